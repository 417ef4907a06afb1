// Requests that differ: what those of each category cost and earned, and why an arm is named for one.

import { weighed } from "./arms.js";
import { budgetBar } from "./charts.js";
import { percent, short } from "./numbers.js";
import { card, make, redraw, table } from "./parts.js";
import { call, pathOf } from "./service.js";

/** A table for each name of the context that has categories. */
export function segments({ segments: found }) {
  if (!found.length) return null;
  const heads = [["Category", "name"], ["Requests", "number"], ["Spent", "number"], ["Of the most", "small wide"], ["Reward", "number wide"],
    ["Each earned", "number"], ["Rate", "number wide"], ["Arms", "wide"]];
  const tables = found.map(({ name, items }, i) => {
    const most = Math.max(...items.map((each) => each.spent), 1e-12);
    const rows = items.map((each) => [each.category, [each.category, short(each.pulls), short(each.spent),
      budgetBar({ budget: most, spent: each.spent, reserved: 0 }, "that a category has"), short(each.reward),
      each.pulls ? short(each.reward / each.pulls) : "–", short(each.rate), shares(each)]]);
    return table(`segments-${i}`, `By ${name}`, heads, rows);
  });
  return card("segments", "By kind of request", ...tables);
}

function shares({ arms, pulls }) {
  const found = Object.entries(arms).sort(([, one], [, other]) => other - one).filter(([, count]) => count >= 0.005 * pulls);
  return found.map(([arm, count]) => `${percent(count / pulls)} ${arm}`).join(", ") || "–";
}

/** A form for a request and, below it, what each arm would be worth for that. */
export function whyFor(campaign, context) {
  if (!context.length) return null;
  const fields = context.map((each) => ({ ...each, input: fieldOf(each) }));
  const result = make("div", { role: "status" }), go = make("button", {}, "Why?");
  const form = make("form", { class: "fields", onsubmit: async (event) => {
    event.preventDefault();
    go.disabled = true;
    try {
      const asked = new URLSearchParams({ context: JSON.stringify(contextOf(fields)), most: "60" });
      redraw(result, ...weighed(await call("GET", `${pathOf(campaign.name, "reasons")}?${asked}`)));
    } catch (error) {
      redraw(result, make("p", { class: "wrong" }, error.message));
    }
    go.disabled = false;
  } }, ...fields.map(({ name, input }) => make("label", {}, name || "Vector", input)), go);
  return card("why-for", "Why this arm for this request",
    make("p", { class: "quiet" }, "Say what is known of a request: nothing is asked for, and nothing changes."), form, result);
}

const HINTS = { number: "a number", words: "words", vector: "numbers, with commas" };

function fieldOf({ kind, categories }) {
  if (kind === "categories") return make("select", {}, ...categories.map((each) => make("option", { value: each }, each)));
  return make("input", { autocomplete: "off", placeholder: HINTS[kind], inputmode: kind === "number" ? "decimal" : null });
}

function contextOf(fields) {
  const number = (text) => {
    if (!text.trim() || !Number.isFinite(Number(text))) throw new Error(`“${text}” is no number.`);
    return Number(text);
  };
  const read = { number, categories: (text) => text, words: (text) => text.split(/\s+/).filter(Boolean), vector: (text) => text.split(",").map(number) };
  if (!fields[0].name) return read.vector(fields[0].input.value);
  return Object.fromEntries(fields.map(({ name, kind, input }) => [name, read[kind](input.value)]));
}
