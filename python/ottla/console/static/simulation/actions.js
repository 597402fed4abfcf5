// The actions on the cluster of a simulation: a form for each action, under the headings of their groups.

import { el } from "../dom.js";

/** Creates the forms: their elements, and `draw(state)`. `send(route, body)` is called to perform an action. */
export function actionForms(state, send) {
  const buttons = [];
  const groups = new Map();
  for (const action of state.actions) {
    if (!groups.has(action.group)) groups.set(action.group, []);
    groups.get(action.group).push(form(action, state, send, buttons));
  }
  const elements = [...groups].map(([group, forms]) => el("section.actions", { "aria-label": group }, el("h4", {}, group), forms));
  // The forms are created once, so that a redraw does not reset a choice.
  const draw = ({ running }) => { for (const button of buttons) button.disabled = running !== null; };
  return { elements, draw };
}

function form(action, state, send, buttons) {
  const button = el("button", { type: "submit" }, action.title);
  buttons.push(button);
  const inputs = action.parameters.map((parameter) => [parameter, input(action, parameter, state)]);
  const submit = (event) => {
    event.preventDefault();
    send("action", { name: action.name, parameters: Object.fromEntries(inputs.map(([{ name }, element]) => [name, Number(element.value)])) });
  };
  return el("form.controls", { "data-action": action.name, onsubmit: submit }, button,
    inputs.map(([parameter, element]) => [el("label", { for: element.id }, parameter.title), element]));
}

function input(action, parameter, state) {
  const id = `${action.name}-${parameter.name}`;
  if (parameter.kind === "seconds") {
    return el("input", { id, type: "number", required: true, min: parameter.least, max: parameter.most, step: "any", value: parameter.default });
  }
  const values = parameter.kind === "broker" ? state.brokers.map((broker) => broker.id) : state.partitions.map((partition) => partition.index);
  return el("select", { id }, values.map((value) => el("option", { value }, value)));
}
