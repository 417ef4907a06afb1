// Questions: a dialog with fields, whose answer is awaited; null where it was cancelled.

import { make } from "./parts.js";

/** Ask for fields ({name, label, value, type, rows, choices, required}).
 *
 * `act` may refuse, and then the dialog stays, saying why. `said(values)` is what the values come to, told while they
 * are typed; a `grave` act has its button in another colour, and what one `must` answer cannot be cancelled.
 */
export function question(title, text, fields, verb, act, { grave = false, said = null, must = false } = {}) {
  return new Promise((resolve) => {
    const wrong = make("p", { role: "alert", class: "wrong" }), told = make("p", { class: "quiet", role: "status" });
    const inputs = fields.map((field) => [field, input(field)]);
    const values = () => Object.fromEntries(inputs.map(([field, element]) => [field.name, element.value]));
    const sure = make("button", { class: grave ? "grave" : null }, verb);
    const form = make("form", { method: "dialog", onsubmit: async (event) => {
      event.preventDefault();
      sure.disabled = true;
      try {
        const done = await act(values());
        resolve(done ?? true);
        dialog.close();
      } catch (error) {
        wrong.textContent = error.message;
      }
      sure.disabled = false;
    }, oninput: () => { if (said) told.textContent = said(values()); } },
      make("h2", { id: "question" }, title),
      text ? make("p", { id: "question-text" }, text) : null,
      ...inputs.map(([field, element]) => make("label", {}, field.label, element)),
      told, wrong,
      make("div", { class: "buttons" },
        must ? null : make("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Cancel"), sure));
    const dialog = make("dialog", { "aria-labelledby": "question", "aria-describedby": text ? "question-text" : null,
      onclose: () => { dialog.remove(); resolve(null); } }, form);
    document.body.append(dialog);
    dialog.showModal();
  });
}

function input({ name, value = "", type = "text", rows, required = true, choices, inputmode = null }) {
  if (choices) return make("select", { name }, ...choices.map(([option, words]) => make("option", { value: option }, words)));
  const element = rows ? make("textarea", { name, rows, required }) : make("input", { name, type, required, inputmode, autocomplete: "off" });
  element.value = value;
  return element;
}
