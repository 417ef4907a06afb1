// Charts, as small drawings: the budget as a bar, the money left over time with its forecast, a rate with its interval.

import { clock, draw, short } from "./parts.js";

/** How much of a budget is spent, set aside and free. */
export function budgetBar(campaign) {
  const part = (value) => Math.max(0, Math.min(100, (100 * value) / campaign.budget));
  const spent = part(campaign.spent), held = Math.min(100 - spent, part(campaign.reserved));
  const label = `${Math.round(spent)} % of ${short(campaign.budget)} spent, ${short(campaign.reserved)} set aside`;
  return draw("svg", { viewBox: "0 0 100 4", preserveAspectRatio: "none", height: 10, role: "img", "aria-label": label },
    draw("rect", { width: 100, height: 4, class: "bar-free" }),
    draw("rect", { width: spent, height: 4, class: "bar-spent" }),
    draw("rect", { x: spent, width: held, height: 4, class: "bar-held" }));
}

/** The money left over time; dashed, where it will be; the band, where the budget will be spent with 95 %. */
export function burnDown(view, width) {
  const { burn, forecast, campaign } = view, height = Math.max(180, Math.min(280, width / 3)), left = 56, bottom = 24;
  const times = burn.map((point) => Date.parse(point.at));
  const ahead = forecast ? Date.parse(forecast.at) : null;
  const from = times[0], now = times[times.length - 1];
  const late = forecast?.late ? Date.parse(forecast.late) : ahead;
  const to = ahead === null ? Math.max(now, from + 1) : Math.min(Math.max(late, now + 1), now + 3 * (ahead - from));
  const top = Math.max(...burn.map((point) => point.left), campaign.budget, 1e-12);
  const x = (time) => left + ((width - left - 8) * (time - from)) / (to - from);
  const y = (value) => 8 + (height - bottom - 8) * (1 - Math.max(0, value) / top);
  const path = burn.map((point, i) => `${i ? "L" : "M"}${x(times[i]).toFixed(1)} ${y(point.left).toFixed(1)}`).join("");
  const said = forecast
    ? `At this pace it is spent by ${clock(forecast.at)}; with 95 % between ${clock(forecast.early)} and ${forecast.late ? clock(forecast.late) : "never"}.`
    : "";
  const marks = [0, 0.5, 1].flatMap((share) => [
    draw("line", { x1: left, x2: width, y1: y(share * top), y2: y(share * top), class: "axis" }),
    draw("text", { x: left - 6, y: y(share * top) + 4, "text-anchor": "end" }, short(share * top)),
  ]);
  const future = forecast === null ? [] : [
    draw("path", { class: "band", d: `M${x(now)} ${y(burn.at(-1).left)}L${x(Date.parse(forecast.early))} ${y(0)}L${x(Math.min(late, to))} ${y(0)}Z` }),
    draw("path", { class: "ahead", d: `M${x(now)} ${y(burn.at(-1).left)}L${x(Math.min(ahead, to))} ${y(0)}` }),
  ];
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Money left over time: now ${short(campaign.left)} of ${short(campaign.budget)}. ${said}` },
    ...marks, ...future, draw("path", { class: "curve", d: path }),
    draw("text", { x: left, y: height - 6 }, clock(from)),
    draw("text", { x: width - 8, y: height - 6, "text-anchor": "end" }, clock(to)));
}

/** A rate and its interval, on a scale that all arms share. */
export function whisker(each, scale) {
  const { rate } = each.arm;
  if (rate === null) return "–";
  const x = (value) => 2 + 96 * Math.max(0, Math.min(1, (value - scale.low) / (scale.high - scale.low || 1)));
  const sure = each.low !== null && each.high !== null;
  const label = sure ? `${short(rate)}, between ${short(each.low)} and ${short(each.high)} with 95 %` : short(rate);
  return draw("svg", { viewBox: "0 0 100 12", height: 14, class: "small", role: "img", "aria-label": label },
    draw("line", { x1: 0, x2: 100, y1: 6, y2: 6, class: "axis" }),
    sure ? draw("line", { x1: x(each.low), x2: x(each.high), y1: 6, y2: 6, class: "whisker" }) : null,
    draw("circle", { cx: x(rate), cy: 6, r: 3.5, class: "dot" }));
}

/** The scale of the arms' rates: what most of them need. */
export function scaleOf(arms) {
  const rates = arms.map((each) => each.arm.rate).filter((rate) => rate !== null);
  const ends = arms.filter((each) => each.arm.pulls > 5).flatMap((each) => [each.low, each.high]).filter((end) => end !== null);
  const most = Math.max(...rates, 0) * 2;
  const all = [...rates, 0, ...ends.filter((end) => Math.abs(end) <= most)];
  return { low: Math.min(...all), high: Math.max(...all) };
}
