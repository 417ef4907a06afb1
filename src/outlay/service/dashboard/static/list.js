// All campaigns at a glance, and how to begin where there are none.

import { budgetBar } from "./charts.js";
import { question } from "./dialogs.js";
import { make, redraw, short, table } from "./parts.js";
import { call, isAdmin } from "./service.js";

const EVERY = 2000; // milliseconds between two looks

/** Show the list until `signal` ends it. */
export async function showList(main, signal) {
  document.title = "outlay";
  const place = make("div");
  const button = make("button", { type: "button", onclick: create }, "New campaign");
  main.replaceChildren(make("div", { class: "row" }, make("h1", {}, "Campaigns"), make("span", { class: "space" }), isAdmin() ? button : null), place);
  while (!signal.aborted) {
    const { items, next } = await call("GET", "/v1/campaigns?limit=200");
    if (signal.aborted) return;
    redraw(place, ...(items.length ? listed(items, next) : empty()));
    await new Promise((resolve) => { setTimeout(resolve, EVERY); signal.addEventListener("abort", resolve); });
  }
}

function listed(items, next) {
  const rows = items.map((each) => [
    make("a", { id: `to ${each.name}`, href: `#/c/${encodeURIComponent(each.name)}` }, each.name),
    make("span", { class: `badge ${each.phase}` }, each.phase),
    budgetBar(each), short(each.left), short(each.budget), short(each.pulls), short(each.in_flight), short(each.reward), each.policy,
  ]);
  const heads = [["Campaign", "name"], ["State"], ["Spent, set aside, free", "small"], ["Left", "number"], ["Budget", "number"],
    ["Pulls", "number"], ["Under way", "number wide"], ["Reward", "number wide"], ["Policy", "wide"]];
  const more = next === null ? null : make("p", { class: "quiet" }, "More campaigns are at /v1/campaigns.");
  return [make("div", { class: "card" }, table("campaigns", `${items.length} campaigns`, heads, rows), more ?? "")];
}

function empty() {
  const here = location.origin;
  const curl = `curl -X POST ${here}/v1/campaigns -H 'content-type: application/json' \\
     -d '{"name": "router", "arms": {"small": 0.01, "large": 0.2}, "budget": 50}'
curl -X POST ${here}/v1/campaigns/router/ask -H 'content-type: application/json' -d '{}'`;
  const python = `import outlay

client = outlay.Client("${here}", "router")
client.create({"small": 0.01, "large": 0.2}, budget=50)
for pull in client:
    with pull:
        pull.tell(cost=0.005, reward=1)`;
  return [make("div", { class: "card" }, make("h2", {}, "There is no campaign yet"),
    make("p", {}, "Make one here, from a shell, or from Python:"),
    make("pre", { tabindex: "0" }, curl), make("pre", { tabindex: "0" }, python))];
}

async function create() {
  const fields = [
    { name: "name", label: "Name" },
    { name: "budget", label: "Budget" },
    { name: "arms", label: "Arms, one per line; the most that a pull can cost after an = sign, if it is known", rows: 4, value: "small=0.01\nlarge=0.2" },
    { name: "mode", label: "When the budget is nearly spent", choices: [["until_exceeded", "Stop once it is crossed, by one pull at most"], ["hard", "Never cross it"]] },
  ];
  const made = await question("New campaign", "", fields, "Create", (values) => {
    const arms = {};
    for (const line of values.arms.split("\n").map((each) => each.trim()).filter(Boolean)) {
      const cut = line.lastIndexOf("=");
      if (cut < 0) arms[line] = null;
      else arms[line.slice(0, cut).trim()] = line.slice(cut + 1).trim();
    }
    return call("POST", "/v1/campaigns", { ...values, arms });
  });
  if (made) location.hash = `#/c/${encodeURIComponent(made.name)}`;
}
