// The Doctor page: the flowchart of a diagnosis, lit up box by box while the checks run, and the report.

import { address } from "../address.js";
import { el, replace, setText } from "../dom.js";
import { counted, seconds } from "../format.js";
import { field } from "../plan_form.js";
import { get } from "../stream.js";

export const name = "doctor";
export const title = "Doctor";
export const lead = "Each step of each connection, in the order in which a client meets problems. The first box that fails shows the cause.";

const STATES = { passed: "passed", warning: "warning", failed: "failed", running: "running …", not_reached: "not reached", not_used: "not used", open: "" };
const SHOWN_STEPS = 6;
const MAX_STEPS = 200;

/** Shows the page. Returns a function that closes it. */
export function open(content) {
  const topic = el("input", { id: "d-topic", autocomplete: "off", placeholder: "optional" });
  const group = el("input", { id: "d-group", autocomplete: "off", placeholder: "optional" });
  const start = el("button.primary", { type: "submit" }, "Run the diagnosis");
  const form = el("form.controls", { onsubmit: (event) => { event.preventDefault(); run(); } },
    field("Topic", topic), field("Group", group), start);
  const status = el("p.verdict", { role: "status" });
  const chart = el("ol.flowchart", { "aria-label": "Flowchart of the diagnosis" });
  const report = el("section");
  content.append(form, status, chart, report);
  let source;
  let boxes = new Map();

  const ready = get("/api/doctor/questions").then((questions) => {
    boxes = new Map(questions.map((each) => [each.phase, { ...each, state: "open", steps: [], passed: 0, failed: 0 }]));
    draw();
  }).catch((error) => setText(status, error.message));

  async function run() {
    source?.close();
    await ready;
    if (!chart.isConnected) return;
    for (const box of boxes.values()) Object.assign(box, { state: "open", steps: [], passed: 0, failed: 0, detail: "", cause: "", remedy: "", findings: [] });
    replace(report);
    draw();
    setText(status, "checking …");
    status.className = "verdict";
    start.disabled = true;
    const query = new URLSearchParams({ topic: topic.value.trim(), group: group.value.trim() });
    source = new EventSource(address(`/api/doctor?${query}`));
    source.addEventListener("step", (message) => step(JSON.parse(message.data)));
    source.addEventListener("report", (message) => { end(); finish(JSON.parse(message.data)); });
    source.addEventListener("problem", (message) => { end(); setText(status, JSON.parse(message.data).message); });
    source.onerror = () => { end(); setText(status, "the diagnosis ended early: the console does not respond, or two other diagnoses are running"); };
  }

  // Without this, EventSource would start another diagnosis.
  function end() {
    source.close();
    start.disabled = false;
  }

  function step({ phase, target, check, state, message, seconds: time }) {
    const box = boxes.get(phase);
    if (!box) return;
    if (state === "started") {
      box.state = box.failed ? box.state : "running";
      box.steps.push({ target, check, state });
    } else {
      const index = box.steps.findIndex((each) => each.target === target && each.check === check && each.state === "started");
      if (index >= 0) box.steps.splice(index, 1);
      box[state] += 1;
      box.steps.push({ target, check, state, message, time });
      if (!box.steps.some((each) => each.state === "started")) box.state = box.failed ? "failed" : "passed";
    }
    draw();
  }

  function finish(found) {
    for (const each of found.boxes) Object.assign(boxes.get(each.phase), each);
    draw(found.ends_at);
    setText(status, found.ends_at ? `The diagnosis ends at ${found.ends_at}: ${boxes.get(found.ends_at).cause}` : `No errors, in ${seconds(found.seconds)}.`);
    status.className = found.ends_at ? "verdict bad" : "verdict good";
    // If all is well, the page is one screen: the checks and the report are shown on demand.
    replace(report, el("p", {}, el("a.button", { href: address("/api/doctor/report.html"), download: "ottla-doctor.html" }, "Save as HTML")),
      el("details", { open: Boolean(found.ends_at) }, el("summary", {}, "Report"), el("pre", { tabindex: "0", "aria-label": "Report" }, found.text)));
  }

  const opened = new Set();
  function draw(endsAt = null) {
    replace(chart, [...boxes.values()].map((box) => boxOf(box, endsAt, opened)));
  }

  return () => source?.close();
}

function boxOf(box, endsAt, opened) {
  const isQuiet = box.state === "passed";
  const steps = box.steps.slice(isQuiet ? -MAX_STEPS : -SHOWN_STEPS).map((each) => el(`li.${each.state}`, {}, `${{ started: "◌", passed: "✓", failed: "✗" }[each.state]} `, el("b", {}, each.check), `, ${each.target}`,
    each.time === undefined ? "" : el("small", {}, ` ${seconds(each.time)}`), each.message ? `: ${each.message}` : ""));
  const hidden = box.steps.length - steps.length;
  const list = el("ul.steps", {}, steps, hidden > 0 ? el("li", {}, `and ${counted(hidden, "more check")}`) : null);
  const folded = isQuiet && steps.length
    ? el("details", { open: opened.has(box.phase), ontoggle: ({ target }) => { if (target.open) opened.add(box.phase); else opened.delete(box.phase); } },
        el("summary", { "data-key": `checks ${box.phase}` }, counted(box.steps.length, "check")), box.detail ? el("p.found", {}, box.detail) : null, list)
    : null;
  const cause = box.cause ? el("div.cause", {}, el("p", {}, el("b", {}, box.certainty === "likely" ? "Likely cause: " : "Cause: "), box.cause), box.remedy ? el("p", {}, el("b", {}, "Remedy: "), box.remedy) : null) : null;
  const others = (box.findings ?? []).slice(1).map((each) => el("li", {}, `${each.severity}${each.certainty === "likely" ? ", likely" : ""}: ${each.summary}${each.fix ? `; ${each.fix}` : ""}`));
  return el(`li.box.${box.state}${endsAt === box.phase ? ".end" : ""}`, { "data-box": box.phase, "data-box-state": box.state, "aria-current": endsAt === box.phase ? "step" : null },
    el("div.head", {}, el("b", {}, box.phase), el("span.question", {}, box.question), folded, el("span.state", {}, STATES[box.state])),
    box.detail && !folded ? el("p.found", {}, box.detail) : null,
    steps.length && !isQuiet ? list : null,
    cause, others.length ? el("ul.plain", {}, others) : null);
}
