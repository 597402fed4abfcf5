// One topic of the Map page: its records, sizes, rates, groups and configuration, and each partition with its
// leader, its replicas and its offsets.

import { about } from "../about.js";
import { chart } from "../chart.js";
import { brokerColor } from "../colors.js";
import { configTable } from "../config_table.js";
import { el, replace, setText, table } from "../dom.js";
import { bytes, count, counted, number } from "../format.js";
import { groupRow, GROUP_HEADS } from "../group_row.js";
import * as intervals from "../intervals.js";
import { repeat } from "../repeat.js";
import { get, subscribe } from "../stream.js";
import { addChanges } from "../topic_changes.js";
import { VirtualList } from "../virtual_list.js";
import { subjectLink } from "./registry.js";

/** Shows a topic. Returns a function that closes the view. */
export function openTopic(content, topic) {
  const summary = el("p.found", { role: "status" });
  const problem = el("p.notice.bad", { role: "alert", hidden: true });
  const facts = el("dl.facts.big-facts");
  const schemas = el("p.found", { hidden: true });
  const groups = el("section");
  const configs = el("div");
  const changes = el("div.all-changes");
  const opened = new Set();
  const samples = [];
  const written = chart({ title: "Written", unit: "records per second", series: [["records", (sample) => sample.writes.records]] });
  let offsets = new Map();
  const list = new VirtualList({
    label: `Partitions of ${topic}`,
    rowHeight: 44,
    load: (start, rows) => get("/api/topic", { name: topic, start, count: rows }),
    onPage: (page) => {
      problem.hidden = true;
      setText(summary, `${counted(page.total, "partition")}${page.internal ? ", internal" : ""}${page.id ? `, id ${page.id}` : ""}`);
    },
    render: (row) => partitionRow(row, offsets.get(row.index)),
    onError: (error) => { setText(problem, error.message); problem.hidden = false; },
  });
  content.append(el("p", {}, el("a", { href: "#/map" }, "← all topics")), el("h3.name", {}, topic), summary, problem,
    el("p", {}, el("a.button", { href: `#/messages?topic=${encodeURIComponent(topic)}` }, "Read messages")), schemas, facts,
    el("div.charts", {}, written.element),
    el("section", {}, el("h3", {}, "Partitions"), el("p.legend", {}, "Replicas in their order of preference: ", el("span.replica.leader", { style: { "--broker": "#ccc" } }, "1"), " leads, ",
      el("span.replica.out", {}, "2"), " is not in sync, ", el("span.replica.offline", {}, "3"), " is offline."),
    list.element), groups, configs, changes);
  addChanges(changes, topic);
  showSchemas(schemas, topic);
  let version;
  let shown = "";
  const ends = [
    subscribe("cluster", (cluster) => {
      if (version === cluster.version) return;
      version = cluster.version;
      list.refresh();
    }),
    repeat(intervals.TOPIC, async () => {
      const found = await get("/api/topic/details", { name: topic });
      samples.push(found);
      if (samples.length > 720) samples.shift();
      drawFacts(facts, found);
      written.draw(samples);
      offsets = new Map(found.partitions.map((each) => [each.index, each]));
      list.draw();
      replace(groups, el("h3", {}, "Consumer groups"), found.groups === null ? el("p.found", {}, "The groups are not known yet.")
        : found.groups.total ? table("Consumer groups of the topic", GROUP_HEADS, found.groups.rows.map(groupRow)) : el("p.found", {}, "No group has committed offsets of this topic."),
        found.groups?.total ? el("small", {}, found.groups.total > found.groups.rows.length ? `The ${count(found.groups.rows.length)} with the largest lags of ${counted(found.groups.total, "group")}. ` : "", "Lags are those of the whole group.") : null,
        found.groups?.errors.map((error) => el("p.notice", {}, `Groups may be missing: ${error}`)));
      const now = JSON.stringify(found.configs);
      if (now !== shown) replace(configs, configTable(found.configs, opened));
      shown = now;
    }, (error) => { setText(problem, error.message); problem.hidden = false; }),
  ];
  return () => { ends.forEach((end) => end()); list.close(); written.close(); };
}

// Links to the topic's subjects, or why they are unknown. Without a registry there are none.
async function showSchemas(element, topic) {
  try {
    if (!(await about).has_registry) return;
    const subjects = await get("/api/registry/topic", { name: topic });
    replace(element, subjects.length ? ["Schemas: ", subjects.map((each, i) => [i ? ", " : "", subjectLink(each)])] : `The registry has no subject ${topic}-key or ${topic}-value.`);
  } catch (error) {
    replace(element, `Schemas are unknown: ${error.message}`);
  }
  element.hidden = false;
}

function drawFacts(facts, found) {
  const fact = (label, value) => el("div", {}, el("dt", {}, label), el("dd", {}, value));
  const known = found.partitions.filter((each) => each.start !== null && each.end !== null);
  const records = known.reduce((sum, each) => sum + each.end - each.start, 0);
  const sized = found.partitions.filter((each) => each.size !== null);
  const size = sized.length ? sized.reduce((sum, each) => sum + each.size, 0) : null;
  const least = Math.min(...sized.map((each) => each.size));
  const most = Math.max(...sized.map((each) => each.size));
  replace(facts,
    fact("offsets in the log", known.length === found.partitions.length ? count(records) : `${count(records)} in ${count(known.length)} of ${counted(found.partitions.length, "partition")}`),
    fact("size of the leaders' logs", bytes(size)),
    sized.length > 1 ? fact("by partition", `${bytes(least)} to ${bytes(most)}`) : null,
    fact("records written", found.writes.records === null ? "measuring …" : `${number(found.writes.records)}/s`),
    fact("logs grow by", found.writes.bytes === null ? "measuring …" : `${bytes(found.writes.bytes)}/s`));
}

function partitionRow(row, offsets) {
  const replicas = row.replicas.map((id) => {
    const offline = row.offline_replicas.includes(id);
    const inSync = row.isr.includes(id);
    const kind = offline ? "offline" : inSync ? "in-sync" : "out";
    const text = `broker ${id}: ${id === row.leader ? "leads" : offline ? "offline" : inSync ? "in sync" : "not in sync"}`;
    return el(`span.replica.${kind}${id === row.leader ? ".leader" : ""}`, { title: text, style: { "--broker": brokerColor(id) } }, id);
  });
  return el("div.row.partition", { "data-partition": row.index, "data-leader": row.leader ?? "none" },
    el("span.name", {}, `partition ${row.index}`),
    el("span.replicas", {}, replicas),
    el("small.offsets", {}, offsets ? `${count(offsets.start)} to ${count(offsets.end)}${offsets.size === null ? "" : `, ${bytes(offsets.size)}`}` : ""),
    el("small.led", {}, row.leader === null ? "no leader" : `broker ${row.leader} leads, epoch ${row.leader_epoch}`, row.error ? ` · ${row.error}` : ""));
}
