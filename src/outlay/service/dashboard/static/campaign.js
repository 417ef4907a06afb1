// One campaign, live: its money, its arms and why one comes next, what is under way, what has happened, and what if.

import { actions } from "./actions.js";
import { events, underWay } from "./activity.js";
import { armsTable, chooser, closing, why } from "./arms.js";
import { burn, money, outlook } from "./money.js";
import { percent } from "./numbers.js";
import { make, redraw } from "./parts.js";
import { segments, whyFor } from "./requests.js";
import { call, isAdmin, pathOf } from "./service.js";
import { another, whatIf } from "./whatif.js";

/** Show a campaign until `signal` ends it. */
export async function showCampaign(main, name, signal, live) {
  document.title = `${name} · outlay`;
  const wanted = { find: "", by: "pulls" };
  const parts = { head: make("div", { class: "row" }), top: make("div"), segments: make("div"), bottom: make("div") };
  let source = null, last = null;
  const show = (view) => { last = view; render(main, parts, view); };
  const look = () => {
    source?.close();
    source = new EventSource(`${pathOf(name, "view", "stream")}?${new URLSearchParams(wanted)}`);
    source.addEventListener("view", (event) => { live("live"); show(JSON.parse(event.data)); });
    source.addEventListener("error", () => live("not connected: trying again"));
  };
  show(await call("GET", pathOf(name, "view")));
  if (signal.aborted) return;
  main.replaceChildren(
    make("nav", { "aria-label": "Where you are" }, make("a", { href: "#/" }, "All campaigns")), parts.head, parts.top,
    make("section", { class: "card", "aria-labelledby": "arms-title" },
      make("div", { class: "row" }, make("h2", { id: "arms-title" }, "Arms"), make("span", { class: "space" }), chooser(wanted, look)), parts.arms),
    parts.segments, whyFor(last.campaign, last.context) ?? "",
    parts.bottom, await (last.context.length ? another : whatIf)(last.campaign));
  look();
  const resized = () => show(last);
  addEventListener("resize", resized);
  signal.addEventListener("abort", () => { source.close(); removeEventListener("resize", resized); live(""); });
}

function render(main, parts, view) {
  const { campaign, read } = view;
  parts.arms ??= make("div");
  redraw(parts.head,
    make("h1", {}, campaign.name), make("span", { class: `badge ${campaign.phase}` }, campaign.phase),
    read < campaign.events ? make("span", { class: "quiet" }, `reading the past: ${percent(read / campaign.events)}`) : null,
    make("span", { class: "space" }), ...(isAdmin() ? actions(campaign) : []));
  const wide = roomFor(main);
  redraw(parts.top, money(view),
    make("div", { class: "two" }, burn(view, wide), why(view)),
    make("div", { class: "two" }, closing(view, wide), make("div", { class: "stack" }, outlook(view), underWay(view))));
  redraw(parts.arms, armsTable(view));
  redraw(parts.segments, segments(view));
  redraw(parts.bottom, events(view));
}

// How wide charts may be: the wide column of style.css, or the page, less what a card takes around them.
function roomFor(main) {
  const all = main.clientWidth - 2 * parseFloat(getComputedStyle(main).paddingLeft), around = 34;
  return Math.max(240, (matchMedia("(min-width: 62rem)").matches ? Math.floor(((all - 16) * 3) / 5) : all) - around);
}
