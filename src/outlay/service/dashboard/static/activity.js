// What happens: pulls under way, the last events, and what went otherwise than planned.

import { clock, counted, short, span } from "./numbers.js";
import { card, cut, make, table } from "./parts.js";
import { pathOf } from "./service.js";

const MOST = 8; // pulls that are listed
const COUNTS = [["late", "Told late"], ["overrun", "Overruns"], ["expired", "Expired"], ["cancelled", "Cancelled"], ["amended", "Amended"]];

/** How many pulls were late, over what was set aside, expired, cancelled or amended. */
export function unusual({ counts }) {
  return make("ul", { class: "counts", "aria-label": "Out of the ordinary" },
    ...COUNTS.map(([key, word]) => make("li", { class: counts[key] ? "some" : null }, `${word} `, make("strong", {}, short(counts[key])))));
}

/** Pulls under way, the oldest first. */
export function underWay({ campaign, under_way: found }) {
  const rows = found.slice(0, MOST).map((each) => [each.id, [String(each.id), cut(each.arm), span(Date.now() - Date.parse(each.asked)), short(each.reserved),
    each.expires ? span(Math.max(0, Date.parse(each.expires) - Date.now())) : "never", each.key === null ? "–" : cut(each.key)]]);
  const heads = [["Pull", "number"], ["Arm", "name"], ["Age", "number"], ["Set aside", "number wide"], ["Expires in", "number"], ["Key", "name wide"]];
  const title = campaign.in_flight > rows.length ? `The ${counted(rows.length, "oldest", "oldest")} of ${short(campaign.in_flight)}` : counted(rows.length, "pull");
  return card("flying", "Under way", rows.length ? table("flying", title, heads, rows) : make("p", { class: "quiet" }, "Nothing is under way."));
}

/** The last events, the newest first. */
export function events({ campaign, events: found }) {
  const rows = found.map((each) => [each.seq, [clock(each.at), each.kind, each.arm === null ? "" : cut(each.arm), short(each.cost), short(each.reward)]]);
  const heads = [["At", ""], ["What", ""], ["Arm", "name"], ["Cost", "number"], ["Reward", "number"]];
  return card("events", "Events", table("events", `The last of ${short(campaign.events)}`, heads, rows),
    make("p", {}, make("a", { id: "csv", href: `${pathOf(campaign.name, "export")}?format=csv` }, "All pulls as CSV"), " · ",
      make("a", { id: "ledger", href: pathOf(campaign.name, "export") }, "The ledger")));
}
