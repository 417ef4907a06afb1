// The arms: what each has cost and earned, how well its rate is known, what the policy weighs, and why one comes next.

import { budgetBar } from "./charts.js";
import { question } from "./dialogs.js";
import { clock, counted, short } from "./numbers.js";
import { button, card, cut, make, table } from "./parts.js";
import { closingIn, evidenceBar, scaleOf, whisker } from "./rates.js";
import { call, isAdmin, pathOf } from "./service.js";

const ORDERS = [["pulls", "most pulls"], ["spent", "most spent"], ["reward", "most reward"], ["rate", "best rate"]];

/** Why an arm comes next: what the policy weighs. */
export function why({ campaign, next }) {
  if (!next) return card("why", "Why this arm next", make("p", { class: "quiet" }, "The policy is not known to the service, or not at hand."));
  const title = next.arm === null ? "No arm comes next" : ["Next: ", cut(next.arm)];
  const open = { open: next.words, paused: "Paused: no arm is named until it is resumed.", waiting: "The budget of this window is spent; the next window brings more.",
    fallback: `The budget is spent, and ${campaign.fallback} is pulled in its place.`, draining: "It has ended; what is under way can still be told.", closed: "It has ended." };
  const untried = next.untried ? make("p", { class: "quiet" }, `${counted(next.untried, "arm was", "arms were")} never tried${next.arm === null ? "." : ": each is opened only if there is enough left for it to pay back."}`) : null;
  return card("why", title, make("p", {}, open[campaign.phase]), ...reasonsOf(next), untried);
}

/** Which arm would be named for a request, and why. */
export function weighed(reasons) {
  return [make("p", {}, reasons.words), ...reasonsOf(reasons)];
}

function reasonsOf({ arms }) {
  const shown = arms.map((each) => make("li", { "data-key": `why ${each.name}` },
    make("span", { class: "row tight" }, make("strong", { class: "cut", title: each.name }, each.name), each.leads ? make("span", { class: "badge open" }, "leads") : null, evidenceBar(each)),
    make("span", { class: "quiet" }, each.words)));
  const note = arms.some((each) => each.enough) ? make("p", { class: "note" }, "A bar is the evidence against an arm; past the mark it is left alone for now.") : null;
  return [make("ul", { class: "plain" }, ...shown), note];
}

/** How the rates of the arms on top closed in. */
export function closing({ campaign, past }, width) {
  const mixed = campaign.requests === null ? "" : " Where requests are to be served, a mix of arms may bring more than the best rate alone.";
  return card("closing", "Rates closing in", ...closingIn(past, width),
    make("p", { class: "quiet" }, `Reward per unit of cost of the first arms below; a band holds the rate with 95 %.${mixed}`));
}

/** Which arms to list: a text to find in their names, and an order. */
export function chooser(wanted, look) {
  let waiting = 0;
  const find = make("input", { type: "search", id: "find", placeholder: "Find an arm", "aria-label": "Find an arm", autocomplete: "off", oninput: () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { wanted.find = find.value.slice(0, 200); look(); }, 250);
  } });
  const by = make("select", { id: "by", "aria-label": "Order of the arms", onchange: () => { wanted.by = by.value; look(); } },
    ...ORDERS.map(([value, words]) => make("option", { value }, words)));
  return make("div", { class: "row tight" }, find, by);
}

/** The table of arms. */
export function armsTable({ campaign, arms, other_arms: others, next }) {
  const scale = scaleOf(arms), most = Math.max(...arms.map((each) => each.arm.spent), 1e-12);
  const rows = arms.map((each) => [each.arm.name, [
    make("span", { class: each.arm.enabled ? null : "off" }, each.arm.name, each.arm.name === next?.arm ? make("span", { class: "badge open" }, "next") : null,
      each.arm.changed ? make("span", { class: "badge", title: `${each.arm.forgotten} results before that are forgotten` }, `changed ${clock(each.arm.changed)}`) : null),
    short(each.arm.pulls), short(each.arm.spent), budgetBar({ budget: most, spent: each.arm.spent, reserved: 0 }, "that an arm has"),
    short(each.arm.reward), short(each.arm.rate), whisker(each, scale),
    each.low === null || each.high === null ? "–" : `${short(each.low)} to ${short(each.high)}`,
    evidenceBar(each) ?? (each.leads ? "leads" : each.score !== null ? short(each.score) : "–"),
    isAdmin() ? toggle(campaign.name, each.arm) : each.arm.enabled ? "in use" : "disabled",
  ]]);
  const heads = [["Arm", "name"], ["Pulls", "number"], ["Spent", "number"], ["Of the most", "small wide"], ["Reward", "number wide"],
    ["Rate", "number"], ["Rate, 95 %", "small wide"], ["Interval", "number wide"], ["Evidence against", "small wide"], ["Use", ""]];
  const title = others ? `The first ${counted(arms.length, "arm")} of ${short(arms.length + others)}` : counted(arms.length, "arm");
  return table("arms", title, heads, rows);
}

function toggle(campaign, arm) {
  const verb = arm.enabled ? "disable" : "enable", word = arm.enabled ? "Disable" : "Enable";
  const what = arm.enabled ? "It is not named any more; pulls under way can still be told." : "It may be named again.";
  return button(`arm ${arm.name}`, word, () => question(`${word} “${arm.name}”?`, what, [], word,
    () => call("POST", pathOf(campaign, "arms", arm.name, verb))), "plain little", `${word} ${arm.name}`);
}
