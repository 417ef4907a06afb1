// Charts of money, as small drawings: the budget as a bar, and the money left over time with its forecast.

import { brief, clock, percent, short } from "./numbers.js";
import { draw } from "./parts.js";

const LEFT = 46, RIGHT = 14, TOP = 10, BOTTOM = 22;

/** How much of a budget is spent, set aside and free. */
export function budgetBar({ budget, spent, reserved }, what = "spent") {
  const part = (value) => Math.max(0, Math.min(100, (100 * value) / (budget || 1)));
  const used = part(spent), held = Math.min(100 - used, part(reserved));
  const label = `${percent(used / 100)} of ${short(budget)} ${what}${reserved ? `, ${short(reserved)} set aside` : ""}`;
  return draw("svg", { viewBox: "0 0 100 4", preserveAspectRatio: "none", class: "bar", role: "img", "aria-label": label },
    draw("rect", { width: 100, height: 4, class: "bar-free" }),
    draw("rect", { width: used, height: 4, class: "bar-spent" }),
    draw("rect", { x: used, width: held, height: 4, class: "bar-held" }));
}

/** A frame for a chart over time: scales, and lines and labels of both axes. */
export function frame(width, height, [from, to], [low, high]) {
  const x = (time) => LEFT + ((width - LEFT - RIGHT) * (time - from)) / Math.max(1, to - from);
  const y = (value) => TOP + (height - TOP - BOTTOM) * (1 - (value - low) / (high - low || 1));
  const levels = ticks(low, high).flatMap((value) => [
    draw("line", { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value), class: "axis" }),
    draw("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, brief(value)),
  ]);
  const most = width < 420 ? 2 : width < 700 ? 3 : 5;
  const times = Array.from({ length: most }, (_, i) => from + ((to - from) * i) / (most - 1)).map((time, i) =>
    draw("text", { x: x(time), y: height - 5, "text-anchor": i === 0 ? "start" : i === most - 1 ? "end" : "middle" }, clock(time, to - from)));
  return { x, y, axes: [...levels, ...times] };
}

/** Round numbers from low to high, three to six of them. */
export function ticks(low, high) {
  const rough = (high - low) / 4 || 1, size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * size).find((each) => each >= rough);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => (first + i) * step);
}

/** A line through points. */
export function line(points, x, y) {
  return points.map(([at, value], i) => `${i ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
}

/** A band between two lines, of [at, low, high]. */
export function band(points, x, y) {
  if (!points.length) return "";
  const upper = points.map(([at, , high]) => [at, high]), lower = points.map(([at, low]) => [at, low]).reverse();
  return `${line(upper, x, y)}${line(lower, x, y).replace("M", "L")}Z`;
}

/** The money left over time; ahead of now the middle of the rehearsals, and the band that holds 95 % of them. */
export function burnDown({ burn, forecast, no_forecast: none, campaign }, width) {
  const height = Math.round(Math.max(200, Math.min(330, width / 2.1)));
  if (forecast) burn = [...burn, [Date.parse(forecast.made), ...burn.at(-1).slice(1)]];
  const from = burn[0]?.[0] ?? 0, now = burn.at(-1)?.[0] ?? 1, fan = forecast?.fan ?? [];
  const to = fan.at(-1)?.[0] ?? Math.max(now, from + 1000);
  const top = Math.max(campaign.budget, ...burn.map(([, left]) => left)) || 1;
  const { x, y, axes } = frame(width, height, [from, to], [0, top]);
  const floor = (value) => Math.max(0, value);
  const start = burn.at(-1) ? [now, floor(burn.at(-1)[1])] : null;
  const future = forecast && start ? [
    draw("path", { class: "band", d: band([[now, start[1], start[1]], ...fan.map(([at, low, , high]) => [at, low, high])], x, y) }),
    draw("path", { class: "ahead", d: line([start, ...fan.map(([at, , middle]) => [at, middle])], x, y) }),
    draw("line", { x1: x(now), x2: x(now), y1: TOP, y2: height - BOTTOM, class: "now" }),
  ] : [];
  const served = campaign.requests === null ? [] : [draw("path", { class: "requests",
    d: line(burn.map(([at, , used]) => [at, floor((top * (campaign.requests - used)) / campaign.requests)]), x, y) })];
  const label = `Money left over time: now ${short(campaign.left)} of ${short(campaign.budget)}. ${ending(forecast, none)}`;
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    ...axes, ...future, ...served, draw("path", { class: "curve", d: line(burn.map(([at, left]) => [at, floor(left)]), x, y) }));
}

/** The forecast in a sentence, or why there is none. */
export function ending(forecast, none) {
  if (!forecast) return none;
  const away = Date.parse(forecast.at) - Date.now(), within = Math.abs(away) > 7200e3 ? 7200e3 : 0;
  if (forecast.by === "window") return `At the recent pace, the budget lasts until this window is over, at ${clock(forecast.at, within)}.`;
  const what = forecast.by === "money" ? "the budget is spent" : "all requests are served";
  const late = forecast.late ? clock(forecast.late, within) : "never";
  return `At the recent pace, ${what} by ${clock(forecast.at, within)}; 95 % of rehearsals end between ${clock(forecast.early, within)} and ${late}.`;
}
