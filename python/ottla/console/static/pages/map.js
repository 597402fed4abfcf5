// The Map page: brokers by rack, topics with the leader of each partition, and the time line of changes.

import { MAX_DETAILED, brokerTiles } from "../broker_tiles.js";
import { brokerColor } from "../colors.js";
import { el, replace, setText } from "../dom.js";
import { count, counted } from "../format.js";
import * as intervals from "../intervals.js";
import { field } from "../plan_form.js";
import { repeat } from "../repeat.js";
import { get, latest, subscribe } from "../stream.js";
import { timeLine } from "../time_line.js";
import { addCreation } from "../topic_changes.js";
import { VirtualList } from "../virtual_list.js";
import { openBroker } from "./broker.js";
import { openTopic } from "./topic.js";

export const name = "map";
export const title = "Map";
export const lead = "Brokers, leaders and replicas in this client's metadata, and every change of them.";

const FLASH_SECONDS = 3;

/** Shows the page. Returns a function that closes it. */
export function open(content, query) {
  if (query.has("topic")) return openTopic(content, query.get("topic"));
  if (query.has("broker")) return openBroker(content, query.get("broker"));
  const totals = el("ul.totals", { "aria-label": "Totals" });
  const racks = el("div.racks");
  const problem = el("p.notice", { role: "alert", hidden: true });
  const search = el("input", { type: "search", id: "topic-search", placeholder: "part of a name", autocomplete: "off", spellcheck: "false" });
  const order = el("select", { id: "topic-order" },
    el("option", { value: "name" }, "name"), el("option", { value: "health" }, "unhealthy first"), el("option", { value: "partitions" }, "most partitions"));
  const found = el("p.found", { role: "status" });
  const changed = new Map();
  const list = new VirtualList({
    label: "List of topics",
    rowHeight: 44,
    load: (start, rows) => get("/api/topics", { start, count: rows, q: search.value.trim(), order: order.value }),
    onPage: (page) => { problem.hidden = true; setText(found, counted(page.total, "topic")); },
    render: (topic) => topicRow(topic, changed),
    onError: (error) => { setText(problem, error.message); problem.hidden = false; },
    onDraw: countHidden,
  });
  const line = timeLine();
  const changes = el("div.all-changes");
  content.append(totals, racks,
    el("section", { "aria-labelledby": "topics-title" },
      el("h3", { id: "topics-title" }, "Topics"),
      el("div.controls", {}, field("Find", search), field("Order", order), found),
      problem, list.element, legend(), changes),
    line.element);

  addCreation(changes);

  let timer;
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => list.reset(), 150); });
  order.addEventListener("change", () => list.reset());

  let version;
  let logDirs = [];
  const draw = () => {
    const cluster = latest("cluster");
    if (!cluster) return;
    drawTotals(totals, cluster);
    replace(racks, brokerTiles(cluster, latest("connections") ?? [], logDirs, (broker) => isRecent(changed.get(broker))));
    if (version !== cluster.version) { version = cluster.version; list.refresh(); }
  };
  const ends = [
    // Without permission to describe log directories, the tiles do not show them.
    repeat(intervals.DISKS, async () => {
      if ((latest("cluster")?.brokers.length ?? 0) > MAX_DETAILED) return;
      logDirs = await get("/api/log-dirs");
      draw();
    }, () => { logDirs = []; }),
    subscribe("cluster", draw),
    subscribe("connections", draw),
    subscribe("fresh events", (fresh) => {
      for (const event of fresh) {
        // The event concerns a broker that appeared, left or moved, or a connection to it.
        if (event.broker !== null && event.broker !== undefined) changed.set(event.broker, event.time);
        for (const move of event.moves ?? []) changed.set(`${move.topic}\n${move.partition}`, event.time);
        if (event.kind === "leader_changed") changed.set(`${event.topic}\n${event.partition}`, event.time);
      }
    }),
  ];
  return () => { ends.forEach((end) => end()); list.close(); line.close(); clearTimeout(timer); };
}

function drawTotals(totals, cluster) {
  const item = (value, label, state) => el(`li${state ? `.${state}` : ""}`, {}, el("b", {}, count(value)), ` ${label}`);
  const items = (value, noun) => item(value, value === 1 ? noun : `${noun}s`);
  const missing = cluster.brokers.filter((broker) => broker.missing).length;
  replace(totals,
    items(cluster.brokers.length - missing, "broker"),
    missing ? item(missing, "missing", "bad") : null,
    items(cluster.topics, "topic"),
    items(cluster.partitions, "partition"),
    item(cluster.under_replicated, "under-replicated", cluster.under_replicated ? "warn" : ""),
    item(cluster.offline, "without a leader", cluster.offline ? "bad" : ""),
    item(cluster.not_preferred, "not led by the preferred replica", cluster.not_preferred ? "warn" : ""));
}

function topicRow(topic, changed) {
  const link = el("a.topic", { href: `#/map?topic=${encodeURIComponent(topic.name)}`, "data-key": `topic ${topic.name}`, title: topic.name }, topic.name);
  const health = topic.offline ? el("span.bad", {}, `${count(topic.offline)} without a leader`)
    : topic.under_replicated ? el("span.warn", {}, `${count(topic.under_replicated)} under-replicated`) : null;
  const cells = topic.cells.map(([index, leader, state]) => cell(topic.name, index, leader, state, changed));
  return el("div.row", {}, el("div.name", {}, link, el("small", {}, el("span.count", {}, counted(topic.partitions, "partition")), " ", health)),
    el("div.cells", {}, cells), el("small.more", { "data-partitions": topic.partitions }));
}

// How many partitions have no cell that can be seen: what does not fit into a row wraps out of sight. All rows are
// measured before one is changed, and once more with room for the number.
function countHidden(rows) {
  const hidden = () => rows.map((row) => {
    const cells = [...row.querySelectorAll(".cell")];
    const wrapped = cells.findIndex((each) => each.offsetTop > cells[0].offsetTop);
    const more = row.querySelector(".more");
    return [more, Number(more.dataset.partitions) - (wrapped < 0 ? cells.length : wrapped)];
  }).filter(([, others]) => others > 0);
  for (const [more] of hidden()) {
    const widest = `+ ${count(Number(more.dataset.partitions))}`;
    setText(more, widest);
    more.style.setProperty("flex-basis", `${widest.length}ch`);
  }
  for (const [more, others] of hidden()) setText(more, `+ ${count(others)}`);
}

function isRecent(time) {
  return time !== undefined && Date.now() / 1000 - time < FLASH_SECONDS;
}

const STATES = { ok: "", under: ", under-replicated", offline: ", no leader" };

function cell(topic, index, leader, state, changed) {
  const moved = isRecent(changed.get(`${topic}\n${index}`));
  const text = leader === null ? "no leader" : `led by broker ${leader}`;
  return el(`span.cell.${state}${moved ? ".moved" : ""}`,
    { title: `partition ${index}: ${text}${STATES[state]}`, "data-partition": index, "data-leader": leader ?? "none", style: { "--broker": brokerColor(leader) } },
    leader ?? "–");
}

function legend() {
  return el("p.legend", {}, "A cell is a partition, with the id of its leader. ",
    el("span.cell.under", { style: { "--broker": "#ddd" } }, "1"), " under-replicated, ", el("span.cell.offline", {}, "–"), " without a leader. Preferred leaders are the first replicas.");
}
