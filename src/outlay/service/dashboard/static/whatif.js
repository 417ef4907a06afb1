// What if: the same campaign from its first pull with another policy, budget or number of requests. Where requests differ,
// what another policy would have made of them.

import { counted, percent, short } from "./numbers.js";
import { card, make, redraw, table } from "./parts.js";
import { spreadBar } from "./rates.js";
import { call, pathOf } from "./service.js";

/** A form and, below it, what a rehearsal came to. */
export async function whatIf(campaign) {
  const { items } = await call("GET", "/v1/policies");
  const policy = make("select", { name: "policy" }, make("option", { value: "" }, `as it is: ${campaign.policy}`),
    ...items.filter((name) => name !== campaign.policy).map((name) => make("option", { value: name }, name)));
  const budget = make("input", { name: "budget", inputmode: "decimal", autocomplete: "off" });
  const requests = make("input", { name: "requests", inputmode: "numeric", autocomplete: "off" });
  budget.value = campaign.exact.budget;
  requests.value = campaign.requests ?? "";
  const result = make("div", { role: "status" }), go = make("button", {}, "Rehearse");
  const form = make("form", { class: "fields", onsubmit: async (event) => {
    event.preventDefault();
    go.disabled = true;
    redraw(result, make("p", { class: "quiet" }, "Rehearsing. The first time a policy is played takes some seconds more."));
    try {
      const wanted = { policy: policy.value || null, budget: number(budget), requests: number(requests) };
      redraw(result, ...told(await call("POST", pathOf(campaign.name, "what-if"), wanted)));
    } catch (error) {
      redraw(result, make("p", { class: "wrong" }, error.message));
    }
    go.disabled = false;
  } }, make("label", {}, "Policy", policy), make("label", {}, "Budget", budget),
    campaign.requests === null ? null : make("label", {}, "Requests", requests), go);
  return card("what-if", "What if", make("p", { class: "quiet" },
    "The campaign is played anew from its first pull, with outcomes drawn from those observed, arm by arm."), form, result);
}

/** Another policy and, below it, what it would have earned with the requests so far. */
export async function another(campaign) {
  const { items } = await call("GET", "/v1/policies");
  const names = [...new Set(["LinearRation", "Ration", "Thrifty", ...items])].filter((name) => name !== campaign.policy);
  const policy = make("select", { name: "policy" }, ...names.map((name) => make("option", { value: name }, name)));
  const result = make("div", { role: "status" }), go = make("button", {}, "Look back");
  const form = make("form", { class: "fields", onsubmit: async (event) => {
    event.preventDefault();
    go.disabled = true;
    redraw(result, make("p", { class: "quiet" }, "Reading the ledger. A long one takes a while."));
    try {
      redraw(result, ...earned(await call("POST", pathOf(campaign.name, "shadow"), { policy: policy.value })));
    } catch (error) {
      redraw(result, make("p", { class: "wrong" }, error.message));
    }
    go.disabled = false;
  } }, make("label", {}, "Policy", policy), go);
  return card("another", "Another policy", make("p", { class: "quiet" },
    "What another policy would have earned with the requests so far; it changes nothing."), form, result);
}

function earned(found) {
  const rows = [[found.policy, found.reward, found.cost], [found.other, found.other_reward, found.other_cost]];
  const heads = [["Policy", "name"], ["Reward of a request", "number"], ["Cost of a request", "number"]];
  return [make("p", {}, found.words), found.gain === null ? null : table("another", `Of ${counted(found.requests, "request")}`, heads,
    rows.map(([name, reward, cost], i) => [`${i} ${name}`, [name, short(reward), short(cost)]]))];
}

function number(field) {
  if (!field.value.trim()) return null;
  const value = Number(field.value);
  if (!Number.isFinite(value)) throw new Error(`“${field.value}” is no number.`);
  return value;
}

function told({ own, other, more, worlds, runs, rehearsals, scale, left_out: leftOut, few }) {
  const ends = [Math.min(own.reward.low, other.reward.low, 0), Math.max(own.reward.high, other.reward.high)];
  const row = (title, played) => make("tr", {}, make("th", { scope: "row" }, title),
    make("td", {}, `${played.policy}, budget ${short(played.budget)}${played.requests === null ? "" : `, ${counted(played.requests, "request")}`}`),
    make("td", { class: "number" }, short(played.reward.middle)),
    make("td", { class: "small" }, spreadBar(played.reward, ends, `${short(played.reward.middle)}, between ${short(played.reward.low)} and ${short(played.reward.high)}`)),
    make("td", { class: "number wide" }, `${short(played.reward.low)} to ${short(played.reward.high)}`),
    make("td", { class: "number wide" }, short(played.pulls.middle)),
    make("td", { class: "wide" }, played.shares.filter(({ share }) => share >= 0.005).map(({ arm, share }) => `${percent(share)} ${arm}`).join(", ")));
  const heads = ["", "Played", "Reward", "95 % of rehearsals", "Between", "Pulls", "Share of the pulls"];
  const kinds = [null, null, "number", "small", "number wide", "number wide", "wide"];
  return [make("p", {}, verdict(more)),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rehearsals" }, make("table", {},
      make("caption", {}, `${counted(rehearsals, "rehearsal")} of each`),
      make("thead", {}, make("tr", {}, ...heads.map((head, i) => (head ? make("th", { scope: "col", class: kinds[i] }, head) : make("td", {}))))),
      make("tbody", {}, row("As it is", own), row("What if", other)))),
    make("p", { class: "quiet" }, cautions(worlds * runs, rehearsals, scale, leftOut, few))];
}

function verdict({ low, middle, high }) {
  const sure = low > 0 || high < 0;
  const word = middle >= 0 ? "more" : "less";
  return `It would bring ${short(Math.abs(middle))} ${word} reward; 95 % of rehearsals differ by ${short(low)} to ${short(high)}.${sure ? "" : " That is not clearly better or worse."}`;
}

function cautions(wanted, rehearsals, scale, leftOut, few) {
  const said = ["An arm is known only as well as its outcomes tell."];
  if (few.length) said.push(`Few outcomes: ${few.slice(0, 5).join(", ")}${few.length > 5 ? ` and ${few.length - 5} more` : ""}.`);
  if (leftOut) said.push(`${counted(leftOut, "arm was", "arms were")} never pulled and ${leftOut === 1 ? "is" : "are"} left out.`);
  if (rehearsals < wanted) said.push(`This took long, and was cut short: ${rehearsals} of ${wanted} rehearsals were played.`);
  if (scale < 1) said.push(`Budgets were scaled down to ${percent(scale)} to be played.`);
  return said.join(" ");
}
