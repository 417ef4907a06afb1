// One campaign, live: its money, its arms, what is under way, what has happened, and what an admin can do.

import { budgetBar, burnDown, scaleOf, whisker } from "./charts.js";
import { question } from "./dialogs.js";
import { clock, make, redraw, short, span, table } from "./parts.js";
import { call, isAdmin, pathOf } from "./service.js";

const COUNTS = { late: "told late", overrun: "over what was set aside", expired: "expired", voided: "void", amended: "amended" };

/** Show a campaign until `signal` ends it. */
export async function showCampaign(main, name, signal, live) {
  document.title = `${name} · outlay`;
  const parts = { head: make("div", { class: "row" }), body: make("div") };
  main.replaceChildren(make("p", { class: "quiet" }, make("a", { href: "#/" }, "All campaigns")), parts.head, parts.body);
  render(parts, await call("GET", pathOf(name, "view")));
  const source = new EventSource(pathOf(name, "view", "stream"));
  source.addEventListener("view", (event) => { live("live"); render(parts, JSON.parse(event.data)); });
  source.addEventListener("error", () => live("not connected: trying again"));
  signal.addEventListener("abort", () => { source.close(); live(""); });
}

function render(parts, view) {
  const { campaign } = view;
  redraw(parts.head,
    make("h1", {}, campaign.name), make("span", { class: `badge ${campaign.phase}` }, campaign.phase),
    make("span", { class: "space" }), ...(isAdmin() ? actions(campaign) : []));
  redraw(parts.body, money(view), charts(view), arms(view), underWay(view), events(view));
}

function money({ campaign, counts, forecast, learning }) {
  const numbers = [["Spent", short(campaign.spent)], ["Set aside", short(campaign.reserved)], ["Left", short(campaign.left)],
    ["Budget", short(campaign.budget)], ["Reward", short(campaign.reward)], ["Pulls", short(campaign.pulls)],
    ["Under way", short(campaign.in_flight)], ["Policy", campaign.policy]];
  if (campaign.requests !== null) numbers.push(["Requests used", `${short(campaign.used)} of ${short(campaign.requests)}`]);
  if (learning !== null) numbers.push(["Learning cost, in reward", short(learning)]);
  if (forecast) numbers.push(["Spent by, about", clock(forecast.at)]);
  const unusual = Object.entries(COUNTS).filter(([key]) => counts[key]).map(([key, word]) => `${short(counts[key])} ${word}`);
  return make("section", { class: "card", "aria-label": "Money" }, budgetBar(campaign), make("p", {}),
    make("dl", { class: "numbers" }, ...numbers.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))),
    unusual.length ? make("p", { class: "quiet" }, `Pulls: ${unusual.join(", ")}.`) : null);
}

function charts(view) {
  const { forecast } = view;
  const words = forecast
    ? `At the pace of late, the budget is spent by ${clock(forecast.at)}; with 95 % between ${clock(forecast.early)} and ${forecast.late ? clock(forecast.late) : "never"}.`
    : "A forecast needs an open campaign and a few more pulls.";
  return make("section", { class: "card" }, make("h2", {}, "Money left"), burnDown(view, Math.max(300, document.getElementById("main").clientWidth - 66)), make("p", { class: "quiet" }, words));
}

function arms({ campaign, arms: found, other_arms: others }) {
  const scale = scaleOf(found), most = Math.max(...found.map((each) => each.arm.spent), 1e-12);
  const rows = found.map((each) => [
    each.arm.name, short(each.arm.pulls), short(each.arm.spent), budgetBar({ budget: most, spent: each.arm.spent, reserved: 0 }),
    short(each.arm.reward), short(each.arm.rate), whisker(each, scale),
    each.low === null ? "–" : `${short(each.low)} to ${short(each.high)}`,
    isAdmin() ? toggle(campaign.name, each.arm) : each.arm.enabled ? "in use" : "disabled",
  ]);
  const heads = [["Arm", "name"], ["Pulls", "number"], ["Spent", "number"], ["Share of spending", "small wide"], ["Reward", "number wide"],
    ["Rate", "number"], ["Rate and its 95 % interval", "small"], ["Interval", "number wide"], ["Use", ""]];
  const title = others ? `The ${found.length} arms with most pulls, of ${found.length + others}` : `${found.length} arms, by pulls`;
  return make("section", { class: "card" }, make("h2", {}, "Arms"), table("arms", title, heads, rows));
}

function toggle(campaign, arm) {
  const verb = arm.enabled ? "disable" : "enable", word = arm.enabled ? "Disable" : "Enable";
  const ask = () => question(`${word} an arm`, `${word} “${arm.name}”?`, [], word, () => call("POST", pathOf(campaign, "arms", arm.name, verb)));
  return make("button", { type: "button", id: `arm ${arm.name}`, class: "plain", "aria-label": `${word} ${arm.name}`, onclick: ask }, word);
}

function underWay({ campaign, under_way: found }) {
  const rows = found.map((each) => [String(each.pull), each.arm, span(Date.now() - Date.parse(each.asked)), short(each.reserved), each.expires ? span(Date.parse(each.expires) - Date.now()) : "never", each.key ?? "–"]);
  const heads = [["Pull", "number"], ["Arm", "name"], ["Age", "number"], ["Set aside", "number wide"], ["Expires in", "number"], ["Key", "name wide"]];
  const title = campaign.in_flight > found.length ? `The ${found.length} oldest of ${short(campaign.in_flight)} pulls under way` : `${found.length} pulls under way`;
  return make("section", { class: "card" }, make("h2", {}, "Under way"), table("flying", title, heads, rows.slice(0, 10)));
}

function events({ campaign, events: found }) {
  const rows = found.slice(0, 15).map((each) => [String(each.seq), clock(each.at), each.kind, each.pull === null ? "" : String(each.pull), each.arm ?? "", short(each.cost), short(each.reward)]);
  const heads = [["Event", "number wide"], ["At", ""], ["What", ""], ["Pull", "number wide"], ["Arm", "name"], ["Cost", "number"], ["Reward", "number"]];
  return make("section", { class: "card" }, make("h2", {}, "Events"), table("events", `The last of ${short(campaign.events)} events`, heads, rows),
    make("p", {}, make("a", { id: "csv", href: pathOf(campaign.name, "export") + "?format=csv" }, "All pulls as CSV"), " · ", make("a", { id: "ledger", href: pathOf(campaign.name, "export") }, "The ledger")));
}

function actions(campaign) {
  const { name, phase, ended } = campaign;
  const post = (verb, body) => call("POST", pathOf(name, verb), body);
  const paused = phase === "paused";
  const found = [button("budget", "Set budget", () => question("Set the budget",
    `Now ${campaign.exact.budget}, of which ${campaign.exact.spent} is spent.`,
    [{ name: "budget", label: "Budget, all of it", value: campaign.exact.budget }], "Set", (values) => post("budget", values)))];
  if (ended === null) {
    found.push(paused
      ? button("pause", "Resume", () => question("Resume", `Name arms again in “${name}”?`, [], "Resume", () => post("resume")))
      : button("pause", "Pause", () => question("Pause", `Name no arm in “${name}” until it is resumed? Tells are still accepted.`, [], "Pause", () => post("pause"))));
  }
  if (ended !== "closed") {
    found.push(button("close", "Close", () => question("Close for good",
      `“${name}” cannot be opened again. Pulls under way can still be told. Type its name to close it.`,
      [{ name: "typed", label: "Name" }], "Close", (values) => {
        if (values.typed !== name) throw new Error("That is another name.");
        return post("close");
      }, true), "grave"));
  }
  return found;
}

function button(id, word, act, kind = "plain") {
  return make("button", { type: "button", id: `act-${id}`, class: kind, onclick: act }, word);
}
