// Numbers and times as text.

/** A number in few digits; a dash where there is none. */
export function short(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  return new Intl.NumberFormat("en", size >= 1000 || Number.isInteger(value)
    ? { maximumFractionDigits: size >= 1000 ? 0 : 2 } : { maximumSignificantDigits: 4 }).format(value);
}

/** A number for an axis: fewer digits still. */
export function brief(value) {
  return new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(value);
}

/** A share, as a percentage. */
export function percent(share) {
  return new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: share < 0.1 && share > 0 ? 1 : 0 }).format(share);
}

/** A count and its noun. */
export function counted(count, one, many = `${one}s`) {
  return `${short(count)} ${count === 1 ? one : many}`;
}

/** How long ago, or ahead. */
export function span(milliseconds) {
  const seconds = Math.abs(milliseconds) / 1000;
  const units = [[86400 * 2, 86400, "d"], [3600 * 2, 3600, "h"], [120, 60, "min"], [0, 1, "s"]];
  const [, length, word] = units.find(([from]) => seconds >= from);
  return `${Math.round(seconds / length)} ${word}`;
}

/** A time of day, with the date where that is another; seconds only where `within` milliseconds is a short time. */
export function clock(when, within = 0) {
  const at = new Date(when);
  const day = at.toDateString() === new Date().toDateString() ? {} : { month: "short", day: "numeric" };
  const seconds = within < 3600e3 ? { second: "2-digit" } : {};
  if (within > 5 * 86400e3) return at.toLocaleString("en-GB", { month: "short", day: "numeric" });
  return at.toLocaleString("en-GB", { ...day, hour: "2-digit", minute: "2-digit", ...seconds });
}

/** The sum of two decimal strings, exactly; an Error where one is no number. */
export function sum(one, other) {
  const parts = [one, other].map((text) => /^\s*([+-]?)(\d*)(?:\.(\d*))?\s*$/.exec(text));
  if (parts.some((part) => part === null || !(part[2] || part[3]))) throw new Error(`“${other}” is no number.`);
  const places = Math.max(...parts.map((part) => (part[3] ?? "").length));
  const [a, b] = parts.map((part) => BigInt(`${part[1] === "-" ? "-" : ""}${part[2]}${(part[3] ?? "").padEnd(places, "0")}`));
  const digits = (a + b < 0n ? -(a + b) : a + b).toString().padStart(places + 1, "0");
  const whole = digits.slice(0, digits.length - places), rest = digits.slice(digits.length - places).replace(/0+$/, "");
  return `${a + b < 0n ? "-" : ""}${whole}${rest ? `.${rest}` : ""}`;
}
