// What an admin can do with a campaign; each act is confirmed first.

import { question } from "./dialogs.js";
import { sum } from "./numbers.js";
import { button } from "./parts.js";
import { call, pathOf } from "./service.js";

/** The buttons of a campaign. */
export function actions(campaign) {
  const { name, phase, ended } = campaign;
  const post = (verb, body) => call("POST", pathOf(name, verb), body);
  const ask = (id, title, text, verb, kind = "plain") => button(`act-${id}`, title, () => question(`${title} “${name}”?`, text, [], title, () => post(verb)), kind);
  if (ended === "closed") return [];
  const found = [button("act-budget", "Add budget", () => more(campaign, post))];
  if (ended === null) {
    found.push(phase === "paused"
      ? ask("pause", "Resume", "Arms are named again.", "resume")
      : ask("pause", "Pause", "No arm is named until it is resumed. Tells are still accepted.", "pause"));
  }
  return [...found, button("act-close", "Close", () => close(campaign, post), "grave")];
}

function more({ exact }, post) {
  const said = (values) => {
    try {
      return `${exact.budget} + ${values.more || "0"} = ${sum(exact.budget, values.more || "0")}`;
    } catch (error) {
      return error.message;
    }
  };
  return question("Add budget", `The budget is ${exact.budget}, of which ${exact.spent} is spent. A number below 0 takes from it.`,
    [{ name: "more", label: "Add", inputmode: "decimal" }], "Set the budget", (values) => post("budget", { budget: sum(exact.budget, values.more) }), { said });
}

function close({ name }, post) {
  return question(`Close “${name}” for good?`, "It cannot be opened again. Pulls under way can still be told. Type its name to close it.",
    [{ name: "typed", label: "Name" }], "Close", (values) => {
      if (values.typed !== name) throw new Error("That is another name.");
      return post("close");
    }, { grave: true });
}
