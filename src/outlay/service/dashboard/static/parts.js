// Elements. What comes from the service is only ever set as text, so a label stays a label.

const SVG = "http://www.w3.org/2000/svg";
const ACTS = ["onclick", "onsubmit", "onclose", "oninput", "onchange"];

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
    if (key.startsWith("on")) element[key] = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Make a part of the page look like these children, changing only what differs: focus, scrolling and selection stay. */
export function redraw(place, ...children) {
  const focused = document.activeElement;
  patchChildren(place, make("div", {}, ...children));
  if (focused !== document.activeElement && place.contains(focused)) focused.focus({ preventScroll: true });
}

function patch(old, fresh) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const act of ACTS) old[act] = fresh[act];
  patchChildren(old, fresh);
}

// Children with a data-key are the same child wherever they stand, so that a button stays that of its arm.
function patchChildren(old, fresh) {
  const keyed = new Map([...old.children].filter((child) => child.dataset.key).map((child) => [child.dataset.key, child]));
  let at = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const key = wanted.dataset?.key;
    const found = key ? keyed.get(key) : at?.dataset?.key ? null : at;
    if (found && found.nodeName === wanted.nodeName) {
      patch(found, wanted);
      if (found === at) at = at.nextSibling;
      else old.insertBefore(found, at);
    } else {
      old.insertBefore(wanted, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** A table: heads are [title, class], rows are [key, cells]. */
export function table(kind, title, heads, rows) {
  const cells = (row) => row.map((cell, i) => make("td", { class: heads[i][1] || null }, cell ?? "–"));
  return make("div", { class: "scroll", id: `table-${kind}`, tabindex: "0", role: "region", "aria-label": title },
    make("table", { class: kind },
      make("caption", {}, title),
      make("thead", {}, make("tr", {}, ...heads.map(([head, of]) => make("th", { scope: "col", class: of || null }, head)))),
      make("tbody", {}, ...rows.map(([key, row]) => make("tr", { "data-key": `row ${key}` }, ...cells(row))))));
}

/** A card with a heading. */
export function card(id, title, ...children) {
  return make("section", { class: "card", id, "aria-labelledby": `${id}-title` }, make("h2", { id: `${id}-title` }, title), ...children);
}

/** Facts as a list of names and values; a third part is a note below. */
export function facts(list) {
  return make("dl", { class: "numbers" }, ...list.map(([name, value, note]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, value), note ? make("dd", { class: "note" }, note) : null)));
}

/** A label that is cut where there is no room for it. */
export function cut(text) {
  return make("span", { class: "cut", title: text }, text);
}

/** A button. */
export function button(id, word, act, kind = "plain", label = null) {
  return make("button", { type: "button", id, class: kind, "aria-label": label, onclick: act }, word);
}
