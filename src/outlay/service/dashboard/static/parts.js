// Elements and numbers. What comes from the service is only ever set as text, so a label stays a label.

const SVG = "http://www.w3.org/2000/svg";

/** An element: its attributes, then its children, text among them. */
export function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same in a drawing. */
export function draw(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** A number in few digits. */
export function short(value) {
  if (value === null) return "–";
  const size = Math.abs(value);
  return new Intl.NumberFormat("en", size >= 1000 || Number.isInteger(value)
    ? { maximumFractionDigits: size >= 1000 ? 0 : 2 } : { maximumSignificantDigits: 4 }).format(value);
}

/** How long ago, or ahead. */
export function span(milliseconds) {
  const seconds = Math.abs(milliseconds) / 1000;
  const units = [[86400 * 2, 86400, "d"], [3600 * 2, 3600, "h"], [120, 60, "min"], [0, 1, "s"]];
  const [, length, word] = units.find(([from]) => seconds >= from);
  return `${Math.round(seconds / length)} ${word}`;
}

/** A time of day, with the date where that is another. */
export function clock(text) {
  const at = new Date(text);
  const day = at.toDateString() === new Date().toDateString() ? {} : { month: "short", day: "numeric" };
  return at.toLocaleString("en-GB", { ...day, hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

/** Draw a part of the page anew; focus and scrolling stay, and text that somebody selects is left alone. */
export function redraw(place, ...children) {
  const chosen = getSelection();
  if (!chosen.isCollapsed && place.contains(chosen.anchorNode)) return;
  const focused = place.contains(document.activeElement) ? document.activeElement.id : "";
  const scrolled = [...place.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
  place.replaceChildren(...children);
  place.querySelectorAll(".scroll").forEach((each, i) => { each.scrollLeft = scrolled[i] ?? 0; });
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

/** A table: heads are [title, class], rows are lists of cells. */
export function table(kind, title, heads, rows) {
  const cells = (row) => row.map((cell, i) => make("td", { class: heads[i][1] || null }, cell ?? "–"));
  return make("div", { class: "scroll", id: `table-${kind}`, tabindex: "0", role: "region", "aria-label": title },
    make("table", { class: kind },
      make("caption", {}, title),
      make("thead", {}, make("tr", {}, ...heads.map(([head, of]) => make("th", { scope: "col", class: of || null }, head)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...cells(row))))));
}
