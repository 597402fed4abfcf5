// The Registry page: the subjects of the schema registry, and one subject with its versions, a schema, and what
// differs between two versions. It changes nothing.

import { el, replace, setText, table } from "../dom.js";
import { count, counted } from "../format.js";
import { field } from "../plan_form.js";
import { get } from "../stream.js";
import { VirtualList } from "../virtual_list.js";

export const name = "registry";
export const title = "Registry";
export const lead = "Subjects of the schema registry, the versions of their schemas, and what differs between two.";

/** Shows the page. Returns a function that closes it. */
export function open(content, query) {
  if (query.has("subject")) return openSubject(content, query.get("subject"));
  const search = el("input", { type: "search", id: "subject-search", placeholder: "part of a name", autocomplete: "off", spellcheck: "false" });
  const found = el("p.found", { role: "status" }, "looking up subjects …");
  const problem = el("p.notice.bad", { role: "alert", hidden: true });
  const at = el("p.found");
  const list = new VirtualList({
    label: "List of subjects",
    rowHeight: 40,
    load: (start, rows) => get("/api/registry/subjects", { start, count: rows, q: search.value.trim() }),
    onPage: (page) => {
      problem.hidden = true;
      setText(found, page.total < page.all ? `${count(page.total)} of ${counted(page.all, "subject")}` : counted(page.all, "subject"));
      setText(at, `at ${page.urls.join(", ")}`);
    },
    render: (subject) => el("div.row", {}, subjectLink(subject)),
    onError: (error) => { setText(found, ""); setText(problem, `The subjects are unknown: ${error.message}`); problem.hidden = false; },
  });
  let timer;
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => list.reset(), 150); });
  content.append(at, el("div.controls", {}, field("Find", search), found), problem, list.element);
  list.refresh();
  return () => { list.close(); clearTimeout(timer); };
}

/** A link to a subject's page. */
export function subjectLink(subject) {
  return el("a", { href: `#/registry?subject=${encodeURIComponent(subject)}`, "data-key": `subject ${subject}`, title: subject }, subject);
}

function openSubject(content, subject) {
  let closed = false;
  const found = el("p.found", { role: "status" }, "looking up versions …");
  const versions = el("section");
  const schema = el("section");
  const comparison = el("section");
  content.append(el("p", {}, el("a", { href: "#/registry" }, "← all subjects")), el("h3.name", {}, subject), found, versions, schema, comparison);
  const fail = (place) => (error) => { if (!closed) replace(place, el("p.notice.bad", { role: "alert" }, error.message)); };

  const show = (version) => get("/api/registry/schema", { name: subject, version }).then((shown) => {
    replace(schema, el("h3", {}, `Version ${shown.version}`), code(`Schema of version ${shown.version}`, shown.lines));
  }).catch(fail(schema));

  get("/api/registry/subject", { name: subject }).then(({ versions: rows, limit, level }) => {
    if (closed) return;
    const listed = limit ? `the newest ${limit} versions` : counted(rows.length, "version");
    setText(found, `${listed}, compatibility ${level.level}${level.is_global ? " (that of the registry)" : ""}`);
    const button = (row) => el("button", { type: "button", "aria-label": `Show version ${row.version}`, onclick: () => show(row.version) }, String(row.version));
    replace(versions, table("Versions", ["version", "id", "type", "references"], rows.map((row) =>
      [button(row), row.id === null ? "–" : count(row.id), row.type, row.references.map((each) => `${each.name} = ${each.subject} version ${each.version}`).join(", ") || "–"])));
    show(rows[0].version);
    if (rows.length > 1) comparison.append(...compare(rows));
  }).catch((error) => { setText(found, ""); fail(versions)(error); });

  function compare(rows) {
    const select = (id, chosen) => el("select", { id }, rows.map((row, i) => el("option", { value: row.version, selected: i === chosen }, String(row.version))));
    const [old, now] = [select("old-version", 1), select("new-version", 0)];
    const result = el("div", { role: "status" });
    const run = () => get("/api/registry/diff", { name: subject, old: old.value, new: now.value }).then(({ lines }) => {
      replace(result, lines.length ? code(`Difference between version ${old.value} and version ${now.value}`, lines, true) : el("p", {}, "These versions do not differ."));
    }).catch(fail(result));
    const form = el("form.controls", { onsubmit: (event) => { event.preventDefault(); run(); } },
      field("From version", old), field("to version", now), el("button", {}, "Compare"));
    return [el("h3", {}, "Compare versions"), form, result];
  }
  return () => { closed = true; };
}

// The sign of a changed line says what its colour does.
function code(label, lines, isDiff = false) {
  const kind = (line, i) => !isDiff || i < 2 ? "" : line.startsWith("+") ? ".good" : line.startsWith("-") ? ".bad" : "";
  return el("pre.schema", { tabindex: "0", role: "region", "aria-label": label }, lines.map((line, i) => el(`span${kind(line, i)}`, {}, `${line}\n`)));
}
