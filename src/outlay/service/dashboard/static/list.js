// All campaigns at a glance, and how to begin where there are none.

import { budgetBar } from "./charts.js";
import { question } from "./dialogs.js";
import { counted, percent, short } from "./numbers.js";
import { button, make, redraw, table } from "./parts.js";
import { call, isAdmin, session } from "./service.js";

const PAGE = "limit=200";

/** Show the list until `signal` ends it. */
export async function showList(main, signal, live) {
  document.title = "outlay";
  const place = make("div");
  const show = ({ items, next }) => redraw(place, ...(items.length ? listed(items, next) : empty()));
  show(await call("GET", `/v1/campaigns?${PAGE}`));
  if (signal.aborted) return;
  main.replaceChildren(make("div", { class: "row" }, make("h1", {}, "Campaigns"), make("span", { class: "space" }),
    isAdmin() ? button("new", "New campaign", create, "") : null), place);
  const source = new EventSource(`/v1/overview/stream?${PAGE}`);
  source.addEventListener("campaigns", (event) => { live("live"); show(JSON.parse(event.data)); });
  source.addEventListener("error", () => live("not connected: trying again"));
  signal.addEventListener("abort", () => { source.close(); live(""); });
}

function listed(items, next) {
  const rows = items.map((each) => [each.name, [
    make("a", { id: `to ${each.name}`, href: `#/c/${encodeURIComponent(each.name)}` }, each.name),
    make("span", { class: `badge ${each.phase}` }, each.phase),
    budgetBar(each), percent(each.budget ? each.spent / each.budget : 0), short(each.left), each.currency ? `${short(each.budget)} ${each.currency}` : short(each.budget), short(each.pulls), short(each.in_flight),
    short(each.reward), each.policy,
  ]]);
  const heads = [["Campaign", "name"], ["State"], ["Spent, set aside, free", "small"], ["Spent", "number wide"], ["Left", "number"], ["Budget", "number wide"],
    ["Pulls", "number"], ["Under way", "number wide"], ["Reward", "number wide"], ["Policy", "wide"]];
  const more = next === null ? null : make("p", { class: "quiet" }, "More campaigns are at /v1/campaigns.");
  return [make("div", { class: "card" }, table("campaigns", counted(items.length, "campaign"), heads, rows), more)];
}

function empty() {
  const here = location.origin, open = session.name === "no keys";
  const key = open ? "" : " -H \"authorization: Bearer $OUTLAY_KEY\"", json = "-H 'content-type: application/json'";
  const curl = `curl -X POST ${here}/v1/campaigns ${json}${key} \\
     -d '{"name": "router", "arms": {"small": 0.01, "large": 0.2}, "budget": 50}'
curl -X POST ${here}/v1/campaigns/router/ask ${json}${key} -d '{}'
curl -X POST ${here}/v1/campaigns/router/tell ${json}${key} \\
     -d '{"pull": 2, "cost": 0.0042, "reward": 1}'`;
  const python = `import outlay${open ? "" : "  # OUTLAY_KEY in the environment is the key"}

client = outlay.Client("${here}", "router")
client.create({"small": 0.01, "large": 0.2}, budget=50)
for pull in client:
    with pull:
        pull.tell(cost=0.005, reward=1)`;
  return [make("div", { class: "card" }, make("h2", {}, "There is no campaign yet"),
    make("p", {}, isAdmin() ? "Make one with the button above, from a shell, or from Python." : "Make one from a shell or from Python."),
    ...snippet("From a shell", curl), ...snippet("From Python", python))];
}

function snippet(title, text) {
  const copy = button(`copy ${title}`, "Copy", async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
  }, "plain little", `Copy: ${title}`);
  // Browsers have a clipboard for pages of this machine and over https.
  return [make("div", { class: "row tight" }, make("h3", {}, title), make("span", { class: "space" }), navigator.clipboard ? copy : null),
    make("pre", { tabindex: "0", role: "region", "aria-label": title }, text)];
}

async function create() {
  const { items } = await call("GET", "/v1/policies");
  const fields = [
    { name: "name", label: "Name" },
    { name: "budget", label: "Budget", inputmode: "decimal" },
    { name: "arms", label: "Arms, one per line; the most that a pull can cost after an = sign, if it is known", rows: 4, value: "small=0.01\nlarge=0.2" },
    { name: "requests", label: "Requests to be served in all, if they are limited", inputmode: "numeric", required: false },
    { name: "policy", label: "Policy", choices: [["", "as outlay chooses"], ...items.map((name) => [name, name])] },
    { name: "mode", label: "When the budget is nearly spent", choices: [["until_exceeded", "Stop once it is crossed, by one pull at most"], ["hard", "Never cross it"]] },
  ];
  const made = await question("New campaign", "", fields, "Create", (values) => {
    const { policy, requests, ...rest } = values;
    const terms = { ...rest, arms: armsOf(values.arms) };
    if (policy) terms.policy = policy;
    if (requests.trim()) terms.requests = Number(requests);
    return call("POST", "/v1/campaigns", terms);
  });
  if (made) location.hash = `#/c/${encodeURIComponent(made.name)}`;
}

function armsOf(text) {
  const lines = text.split("\n").map((each) => each.trim()).filter(Boolean);
  return Object.fromEntries(lines.map((line) => {
    const cut = line.lastIndexOf("=");
    return cut < 0 ? [line, null] : [line.slice(0, cut).trim(), line.slice(cut + 1).trim()];
  }));
}
