// Charts of arms: a rate with its interval, how intervals closed in, and evidence beside what would be enough.

import { band, frame, line } from "./charts.js";
import { short } from "./numbers.js";
import { cut, draw, make } from "./parts.js";

const HUES = ["one", "two", "three", "four", "five"]; // classes, so that light and dark have colours of their own

/** A rate and its interval, on a scale that all arms share. */
export function whisker({ arm: { rate }, low, high }, scale) {
  if (rate === null) return "–";
  const x = (value) => 2 + 96 * Math.max(0, Math.min(1, (value - scale.low) / (scale.high - scale.low || 1)));
  const sure = low !== null && high !== null;
  const label = sure ? `${short(rate)}, between ${short(low)} and ${short(high)} with 95 %` : short(rate);
  return draw("svg", { viewBox: "0 0 100 12", class: "whiskers", role: "img", "aria-label": label },
    draw("line", { x1: 0, x2: 100, y1: 6, y2: 6, class: "axis" }),
    sure ? draw("line", { x1: x(low), x2: x(high), y1: 6, y2: 6, class: "whisker" }) : null,
    draw("circle", { cx: x(rate), cy: 6, r: 3.5, class: "dot" }));
}

/** The scale of the arms' rates: what most of them need. */
export function scaleOf(arms) {
  const rates = arms.filter((each) => each.arm.pulls > 2).map((each) => each.arm.rate).filter((rate) => rate !== null);
  const ends = arms.filter((each) => each.arm.pulls > 5).flatMap((each) => [each.low, each.high]).filter((end) => end !== null);
  const most = Math.max(...rates, 0) * 2;
  const all = [...rates, 0, ...ends.filter((end) => Math.abs(end) <= most)];
  return { low: Math.min(...all), high: Math.max(...all, 1e-12) };
}

/** How the intervals of some arms' rates closed in, over time. */
export function closingIn(past, width) {
  const found = past.map((each) => ({ ...each, points: each.points.filter(([, rate]) => rate !== null) })).filter((each) => each.points.length > 1);
  if (!found.length) return [make("p", { class: "quiet" }, "The rates are drawn once there are a few outcomes.")];
  const all = found.flatMap((each) => each.points), height = Math.round(Math.max(200, Math.min(280, width / 1.9)));
  const last = found.map((each) => each.points.at(-1));
  const high = 1.25 * Math.max(...last.map(([, rate, , end]) => Math.min(end ?? rate, 2 * Math.abs(rate) + 1e-12))) || 1;
  const low = Math.min(0, ...last.map(([, rate]) => rate));
  const ends = [Math.min(...all.map(([at]) => at)), Math.max(...all.map(([at]) => at))];
  const { x, y, axes } = frame(width, height, ends, [low, high]);
  const clip = (value) => Math.max(low, Math.min(high, value));
  const drawn = found.flatMap((each, i) => [
    draw("path", { class: `closing ${HUES[i]}`, d: band(each.points.filter(([, , from, to]) => from !== null && to !== null).map(([at, , from, to]) => [at, clip(from), clip(to)]), x, y) }),
    draw("path", { class: `rate ${HUES[i]}`, d: line(each.points.map(([at, rate]) => [at, clip(rate)]), x, y) }),
  ]);
  const said = found.map((each, i) => `${each.name}: ${short(last[i][1])}, between ${short(last[i][2])} and ${short(last[i][3])}`);
  const chart = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Reward per unit of cost over time, with 95 % intervals. ${said.join("; ")}.` }, ...axes, ...drawn);
  const swatch = (i) => draw("svg", { viewBox: "0 0 10 10", class: "swatch", "aria-hidden": "true" }, draw("rect", { width: 10, height: 10, rx: 2, class: `fill ${HUES[i]}` }));
  const legend = make("ul", { class: "legend" }, ...found.map((each, i) => make("li", {}, swatch(i), cut(each.name))));
  return [chart, legend];
}

/** The evidence against an arm, as a bar, and a mark where it would be enough. */
export function evidenceBar({ evidence, enough }) {
  if (!enough) return null;
  const certain = evidence === null, most = 2 * enough;
  const part = certain ? 100 : Math.max(0, Math.min(100, (100 * evidence) / most));
  return draw("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", class: "bar evidence", role: "img", "aria-label": `Evidence ${certain ? "beyond doubt" : short(evidence)}; ${short(enough)} is enough` },
    draw("rect", { width: 100, height: 8, class: "bar-free" }),
    draw("rect", { width: part, height: 8, class: certain || evidence > enough ? "bar-past" : "bar-held" }),
    draw("rect", { x: 49.4, width: 1.2, height: 8, class: "mark" }));
}

/** Two spreads on one scale: the middle, and the ends that hold 95 %. */
export function spreadBar({ low, middle, high }, [from, to], label) {
  const x = (value) => 2 + (96 * (value - from)) / (to - from || 1);
  return draw("svg", { viewBox: "0 0 100 12", class: "whiskers", role: "img", "aria-label": label },
    draw("line", { x1: 0, x2: 100, y1: 6, y2: 6, class: "axis" }),
    draw("line", { x1: x(low), x2: x(high), y1: 6, y2: 6, class: "whisker" }),
    draw("circle", { cx: x(middle), cy: 6, r: 3.5, class: "dot" }));
}
