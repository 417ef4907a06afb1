// Questions: a dialog with fields, whose answer is awaited; null where it was cancelled.

import { make } from "./parts.js";

/** Ask for fields ({name, label, value, type, rows, choices}); `act` may refuse, and then the dialog stays, saying why. */
export function question(title, text, fields, verb, act, grave = false) {
  return new Promise((resolve) => {
    const wrong = make("p", { role: "alert", class: "paused" });
    const inputs = fields.map((field) => [field, input(field)]);
    const form = make("form", { method: "dialog", onsubmit: async (event) => {
      event.preventDefault();
      const values = Object.fromEntries(inputs.map(([field, element]) => [field.name, element.value]));
      try {
        const done = await act(values);
        dialog.close();
        resolve(done ?? true);
      } catch (error) {
        wrong.textContent = error.message;
      }
    } },
      make("h2", { id: "question" }, title),
      text ? make("p", {}, text) : null,
      ...inputs.map(([field, element]) => make("label", {}, field.label, element)),
      wrong,
      make("div", { class: "buttons" },
        make("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Cancel"),
        make("button", { class: grave ? "grave" : null }, verb)));
    const dialog = make("dialog", { "aria-labelledby": "question", onclose: () => { dialog.remove(); resolve(null); } }, form);
    document.body.append(dialog);
    dialog.showModal();
  });
}

function input({ name, value = "", type = "text", rows, required = true, choices }) {
  if (choices) return make("select", { name }, ...choices.map(([option, words]) => make("option", { value: option }, words)));
  const element = rows ? make("textarea", { name, rows, required }) : make("input", { name, type, required, autocomplete: "off" });
  element.value = value;
  return element;
}
