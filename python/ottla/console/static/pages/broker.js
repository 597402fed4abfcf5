// One broker of the Map page: its address, partitions, disks, configuration, and what is written to it.

import { chart } from "../chart.js";
import { configTable } from "../config_table.js";
import { el, replace, setText, table } from "../dom.js";
import { bytes, count, counted, number } from "../format.js";
import * as intervals from "../intervals.js";
import { repeat } from "../repeat.js";
import { get } from "../stream.js";

/** Shows a broker. Returns a function that closes the view. */
export function openBroker(content, id) {
  const summary = el("p.found", { role: "status" }, "looking up the broker …");
  const facts = el("dl.facts.big-facts");
  const disks = el("section");
  const configs = el("div");
  const opened = new Set();
  const samples = [];
  const written = chart({ title: "Written", unit: "records per second in the partitions that it leads", series: [["records", (sample) => sample.writes.records]] });
  content.append(el("p", {}, el("a", { href: "#/map" }, "← all brokers")), el("h3", {}, `broker ${id}`), summary, facts,
    el("div.charts", {}, written.element), disks, configs);
  let shown = "";
  const end = repeat(intervals.BROKER, async () => {
    const found = await get("/api/broker", { id });
    samples.push(found);
    if (samples.length > 720) samples.shift();
    setText(summary, found.missing ? "Down or gone: only lists of replicas name it." : `${found.address}${found.rack ? `, rack ${found.rack}` : ""}`);
    summary.className = found.missing ? "found bad" : "found";
    const fact = (label, value) => el("div", {}, el("dt", {}, label), el("dd", {}, value));
    const rate = (value, text) => (found.missing ? "–" : value === null ? "measuring …" : `${text(value)}/s`);
    replace(facts, fact("leads", counted(found.leads, "partition")), fact("preferred leader of", count(found.preferred)), fact("replicas", count(found.replicas)),
      fact("records written", rate(found.writes.records, number)), fact("logs grow by", rate(found.writes.bytes, bytes)));
    written.draw(samples);
    // An unchanged table keeps its selection.
    const now = JSON.stringify([found.log_dirs, found.configs]);
    if (now === shown) return;
    shown = now;
    replace(disks, el("h3", {}, "Log directories"), found.log_dirs.length
      ? table("Log directories", ["path", "replicas", "size of replicas", "free", "disk", "state"], found.log_dirs.map(logDir))
      : el("p.found", {}, found.missing ? "Unknown while the broker is down." : "The broker has not reported them."));
    replace(configs, configTable(found.configs, opened));
  }, (error) => setText(summary, error.message));
  return () => { end(); written.close(); };
}

function logDir(each) {
  const cell = (text) => el("td.number", {}, text);
  const free = each.usable_bytes === null || !each.total_bytes ? "–" : `${bytes(each.usable_bytes)} (${Math.round((100 * each.usable_bytes) / each.total_bytes)} %)`;
  return [each.path, cell(count(each.replicas)), cell(bytes(each.replica_bytes)), cell(free), cell(bytes(each.total_bytes)), each.error ?? "usable"];
}
