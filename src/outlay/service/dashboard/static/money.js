// The money of a campaign: its sums, the burn-down, and what is to be expected where requests count.

import { unusual } from "./activity.js";
import { budgetBar, burnDown, ending } from "./charts.js";
import { clock, percent, short, span } from "./numbers.js";
import { card, facts, make } from "./parts.js";

/** The sums that matter most. */
export function money(view) {
  const { campaign, forecast, learning } = view;
  const list = [
    [campaign.currency ? `Left, in ${campaign.currency}` : "Left", short(campaign.left), `of ${short(campaign.budget)}`],
    ["Spent", short(campaign.spent), `${short(campaign.reserved)} set aside`],
    ["Reward", short(campaign.reward), campaign.spent > 0 ? `${short(campaign.reward / campaign.spent)} per unit spent` : null],
    ["Pulls", short(campaign.pulls), `${short(campaign.in_flight)} under way`],
  ];
  if (campaign.awaited || campaign.overdue) list.push(["Rewards awaited", short(campaign.awaited), campaign.overdue ? `${short(campaign.overdue)} did not come in time` : "their costs are told"]);
  if (campaign.requests !== null) list.push(["Requests used", short(campaign.used), `of ${short(campaign.requests)}`]);
  if (forecast) list.push([{ money: "Spent by, about", requests: "Served by, about", window: "Lasts until" }[forecast.by], clock(forecast.at, 7200e3), forecast.by === "window" ? "the end of this window" : within(forecast)]);
  if (learning) list.push(["Cost of learning", short(learning.cost), bound(learning)]);
  if (campaign.window) list.push([`This ${campaign.window.kind}`, `to ${clock(campaign.window.end, 7200e3)}`, `${short(campaign.window.earlier)} spent in earlier ${campaign.window.kind}s`]);
  if (campaign.outside) list.push(["Outside the budget", short(campaign.outside), `for ${campaign.fallback}`]);
  list.push(["Policy", campaign.policy, campaign.mode === "hard" ? "never passes the budget" : "ends as it passes the budget"]);
  return make("section", { class: "card", "aria-label": "Money" }, budgetBar(campaign), facts(list), unusual(view));
}

function within({ at, early, late }) {
  const away = (time) => span(Math.max(0, Date.parse(time) - Date.now()));
  return Date.parse(at) < Date.now() ? "any moment" : `in ${away(early)} to ${late ? away(late) : "never"}`;
}

function bound(learning) {
  return learning.bound === null ? "in reward, against the best arm as known now" : `in reward; no policy that learns avoids ${short(learning.bound)}`;
}

/** The burn-down with its forecast. */
export function burn(view, width) {
  const keys = [["curve", "left"], ...(view.campaign.requests === null ? [] : [["requests", "requests left, to the same height"]]),
    ...(view.forecast ? [["ahead", "rehearsed, with 95 %"]] : [])];
  return card("burn", "Money left", burnDown(view, width),
    make("ul", { class: "legend" }, ...keys.map(([kind, word]) => make("li", {}, make("span", { class: `key ${kind}` }), word))),
    make("p", { class: "quiet" }, ending(view.forecast, view.no_forecast)));
}

/** What money and requests are worth, where requests count. */
export function outlook({ campaign }) {
  const { outlook: found, requests, used } = campaign;
  if (requests === null && !found) return null;
  const parts = [];
  if (requests !== null) parts.push(budgetBar({ budget: requests, spent: used, reserved: 0 }, "requests used"));
  if (found) {
    const mix = [[found.low, 1 - found.share], [found.high, found.share]].filter(([arm, share]) => arm !== null && share > 0.005);
    parts.push(facts([
      ["One more unit of money brings", short(found.price), "reward"],
      ["One more request brings", short(found.worth), "reward"],
      ["Reward at the end", short(found.reward), found.reward_low === null ? null : `${short(found.reward_low)} to ${short(found.reward_high)} with 95 %`],
    ]), make("p", { class: "quiet" }, "The best mix as known now: ", ...mix.flatMap(([arm, share], i) => [i ? " and " : "", `${percent(share)} ${arm}`]), "."));
  }
  return card("outlook", "Money and requests", ...parts);
}
