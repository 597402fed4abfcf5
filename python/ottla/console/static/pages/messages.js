// The Messages page: records of a topic by offset or time, or the newest ones, filtered and decoded, to read or save.

import { about } from "../about.js";
import { address } from "../address.js";
import { el, replace, setText } from "../dom.js";
import { count, counted } from "../format.js";
import * as intervals from "../intervals.js";
import { messageRow } from "../message_row.js";
import { field as labelled } from "../plan_form.js";
import { repeat } from "../repeat.js";
import { get, latest } from "../stream.js";

export const name = "messages";
export const title = "Messages";
export const lead = "Records of a topic. Reading them joins no group and commits nothing.";

const MAX_TAIL = 1000;
const KINDS = ["string", "json", "hex", "base64", "short", "integer", "long", "float", "double", "uuid"];
// The largest number of requests that a tail sends in a row before it draws again.
const MAX_IN_A_ROW = 20;
const ENDS = { end: "up to the end", count: "there are more", time: "stopped after 10 seconds: there may be more", size: "stopped after 64 MiB: there are more" };

/** Shows the page. Returns a function that closes it. */
export function open(content, query) {
  const fields = {};
  const field = (key, label, input) => { input.id = `m-${key}`; input.name = key; fields[key] = input; return labelled(label, input); };
  const text = (key, label, placeholder) => field(key, label, el("input", { value: query.get(key) ?? "", placeholder, autocomplete: "off", spellcheck: "false" }));
  const select = (key, label, choices) => field(key, label, el("select", {}, choices.map(([value, name]) => el("option", { value, selected: query.get(key) === value }, name))));
  const decoded = (part) => select(`${part}_as`, part, [["", "text or hex"], ...KINDS.map((kind) => [kind, kind])]);
  const form = el("form", { "aria-label": "What to read", onsubmit: (event) => { event.preventDefault(); load(); } },
    el("div.controls", {}, text("topic", "Topic", "name"), text("partition", "Partition", "all"),
      select("mode", "Read", [["last", "the newest"], ["start", "from a place"], ["tail", "new ones (tail)"]]), text("start", "Place", "beginning, 4711, -100, 12h, a time"),
      text("count", "At most", "100"), el("button.primary", { type: "submit" }, "Read")),
    el("details", { open: ["key", "value", "header", "where"].some((key) => query.has(key)) }, el("summary", {}, "Filters and decoding"),
      el("div.controls", {}, text("key", "Key contains", ""), text("value", "Value contains", ""), text("header", "Header", "name=text"), text("where", "JSON field", "customer.id=42")),
      el("div.controls", {}, "Decode ", decoded("key"), decoded("value"), el("span.formats"))));
  const status = el("p.found", { role: "status" });
  const tools = el("div.controls", { hidden: true });
  const list = el("ul.messages", { "aria-label": "Records" });
  const more = el("button", { type: "button", hidden: true, onclick: () => go() }, "Read on");
  content.append(form, status, tools, list, more);
  about.then(({ has_registry }) => {
    if (!has_registry) return;
    const formats = [["", "no schema"], ["avro", "Avro"], ["protobuf", "Protobuf"], ["json", "JSON Schema"]];
    form.querySelector(".formats").append(select("key_format", "schema of the key", formats), select("value_format", "schema of the value", formats));
  });
  let end = () => {};
  let state;

  function parameters() {
    const values = Object.fromEntries(Object.entries(fields).map(([key, input]) => [key, input.value.trim()]));
    const { mode, ...rest } = values;
    if (mode === "last") { rest.start = ""; rest.last = rest.count || "100"; }
    if (mode === "tail") { rest.start = "end"; rest.follow = "1"; }
    return { mode, rest };
  }

  async function load() {
    end();
    end = () => {};
    const { mode, rest } = parameters();
    const shown = Object.entries({ ...rest, last: "", follow: "", mode: mode === "last" ? "" : mode });
    history.replaceState(null, "", `#/messages?${new URLSearchParams(shown.filter(([, value]) => value))}`);
    const mine = { rest, read: 0, shown: 0, isTail: mode === "tail" };
    state = mine;
    replace(list);
    await go();
    if (mine.isTail && mine === state) end = repeat(intervals.TAIL, () => follow(mine), fail);
  }

  // New records of a busy topic take several requests.
  async function follow(mine) {
    for (let i = 0; i < MAX_IN_A_ROW; i += 1) {
      if (mine !== state || await go() === "end") return;
    }
  }

  async function go() {
    const mine = state;
    more.disabled = true;
    if (!mine.isTail) setText(status, "reading …");
    let page;
    try {
      page = await get("/api/messages", { ...mine.rest, after: places(mine.next) });
    } catch (error) {
      if (mine === state) fail(error);
      return "end";
    } finally {
      more.disabled = false;
    }
    if (mine !== state) return "end";
    mine.next = page.next;
    mine.first ??= page.next;
    mine.read += page.read;
    mine.shown += page.records.length;
    const rows = page.records.map((record) => messageRow(record, mine.rest));
    if (mine.isTail) list.prepend(...rows.reverse()); else list.append(...rows);
    while (mine.isTail && list.children.length > MAX_TAIL) list.lastChild.remove();
    more.hidden = mine.isTail || Boolean(mine.rest.last) || page.ended === "end";
    const how = !mine.isTail ? ENDS[page.ended] : page.ended === "end" ? "waiting for new ones" : "reading new ones …";
    setText(status, `${counted(mine.shown, "record")} of ${count(mine.read)} read, ${how}`);
    drawTools(page.command, mine);
    return page.ended;
  }

  function fail(error) {
    setText(status, error.message);
  }

  function drawTools(command, { rest, isTail, first }) {
    const parameters = { ...rest, count: "", after: isTail ? places(first) : "" };
    const saved = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value)).toString();
    if (tools.dataset.saved === saved) return;
    tools.dataset.saved = saved;
    tools.hidden = false;
    replace(tools,
      el("code.command", { tabindex: "0", "aria-label": "The same as a command" }, command),
      el("button", { type: "button", onclick: (event) => copy(command, event.target) }, "Copy as command"),
      ["jsonl", "csv", "parquet"].map((kind) => el("a.button", { href: address(`/api/messages/download?${saved}&as=${kind}`), download: "" }, { jsonl: "JSON lines", csv: "CSV", parquet: "Parquet" }[kind])),
      el("small", {}, "A file has at most 100,000 records, or those read in ten seconds. A name with .part marks an incomplete file."));
  }

  if (query.get("topic")) load();
  else suggest(fields.topic);
  return () => { end(); state = undefined; };
}

// Formats offsets by partition as the server expects them.
function places(next) {
  return Object.entries(next ?? {}).map((each) => each.join(":")).join(",");
}

async function copy(text, button) {
  await navigator.clipboard.writeText(text).then(() => setText(button, "Copied"), () => setText(button, "Select the text to copy it"));
  setTimeout(() => setText(button, "Copy as command"), 2000);
}

// Suggests topic names while the user types.
function suggest(input) {
  const list = el("datalist", { id: "m-topics" });
  input.setAttribute("list", list.id);
  input.after(list);
  const load = async () => {
    const { rows } = await get("/api/topics", { q: input.value.trim(), count: 30 }).catch(() => ({ rows: [] }));
    replace(list, rows.map((row) => el("option", { value: row.name })));
  };
  input.addEventListener("input", load);
  if (latest("cluster")) load();
}
