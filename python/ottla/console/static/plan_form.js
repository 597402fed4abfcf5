// A form of a change: it shows the plan first, and carries out the plan in view and nothing else. Invariant: any
// input takes the plan out of view, so what is confirmed is what the user has seen.

import { el, replace, table } from "./dom.js";
import { post } from "./stream.js";

/**
 * Returns the section of a change.
 * @param {object} change
 *   id, title, lead; path: the endpoint; controls: labels and inputs; wanted: () => the JSON of the request;
 *   apply: the text of the button that carries the plan out; done: (response) => the outcome as text or elements;
 *   typed: the name that must be typed first, for deletions; isReadOnly: whether only the plan may be seen
 */
export function planForm({ id, title, lead, path, controls = [], wanted, apply = "Apply the plan", done, typed = null, isReadOnly = false }) {
  const result = el("div.plan", { role: "status" });
  // The request of the plan in view, or null if there is none.
  let planned = null;
  const name = typed === null ? null : el("input", { id: `${id}-typed`, autocomplete: "off", spellcheck: "false", oninput: () => { button.disabled = name.value !== typed; } });
  const button = el(`button${typed === null ? ".primary" : ".danger"}`, { type: "button", onclick: () => send(planned, false) }, apply);
  const confirm = el("div.controls", { hidden: true }, name === null ? null : [el("label", { for: name.id }, `Type ${typed} to confirm`), name], button);
  const forget = () => { planned = null; confirm.hidden = true; };
  const form = el("form.controls.fields", { oninput: () => { forget(); replace(result); }, onsubmit: (event) => { event.preventDefault(); send(wanted(), true); } },
    controls, el("button", { type: "submit" }, "Show the plan"));
  const send = async (request, dryRun) => {
    forget();
    try {
      const response = await post(path, { ...request, typed: name?.value, dry_run: dryRun });
      if (dryRun && JSON.stringify(wanted()) !== JSON.stringify(request)) return;
      if (!dryRun) {
        replace(result, el("div.outcome", {}, done(response)));
      } else if (response.changes.length) {
        replace(result, el("p", {}, "The plan; nothing has changed yet:"), planTable(title, response.changes));
        if (isReadOnly) {
          result.append(el("p.found", {}, "This console is read-only. Start it with --allow-changes to apply plans."));
          return;
        }
        planned = { ...request, digest: response.digest };
        confirm.hidden = false;
        if (name !== null) name.value = "";
        button.disabled = typed !== null;
      } else replace(result, el("p", {}, "There is nothing to change."));
    } catch (error) {
      replace(result, problem(error));
    }
  };
  return el("section.change", { id, "aria-labelledby": `${id}-title` }, el("h4", { id: `${id}-title` }, title), lead ? el("p.found", {}, lead) : null, form, result, confirm);
}

// A plan has values before and after it, or only what it does.
function planTable(title, changes) {
  const hasValues = changes.some((each) => each.before !== null || each.after !== null);
  const rows = changes.map((each) => [`${each.action} ${each.resource}`, each.detail || "–", ...(hasValues ? [each.before ?? "none", each.after ?? "none"] : [])]);
  return table(`Plan: ${title}`, ["what", "how", ...(hasValues ? ["before", "after"] : [])], rows);
}

/** An error in place: what happened, whether the change may have been made, and what to do. */
function problem(error) {
  const { remedy, maybe_done: maybeDone } = error.details ?? {};
  return el("div.notice.bad", {},
    el("p", {}, error.message),
    maybeDone ? el("p", {}, "The outcome is unknown: the change may have been made. Look before you repeat it.") : null,
    remedy && !error.message.includes(remedy) ? el("p", {}, `What to do: ${remedy}`) : null);
}

/** A label and its control, side by side. */
export function field(label, control) {
  return el("span.field", {}, el("label", { for: control.id }, label), control);
}

/** An input of a line. */
export function line(id, attributes = {}) {
  return el("input", { id, autocomplete: "off", spellcheck: "false", ...attributes });
}

/** An input of several lines. */
export function lines(id, attributes = {}) {
  return el("textarea", { id, rows: 2, autocomplete: "off", spellcheck: "false", ...attributes });
}

/** Returns the sections of changes under one heading that opens them; nothing in a console that is read-only. */
export function changes(title, sections) {
  return el("details.changes", {}, el("summary", {}, title), sections);
}
