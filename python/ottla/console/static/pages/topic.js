// One topic of the Map page: each partition with its leader, its replicas and their state.

import { brokerColor } from "../colors.js";
import { el, setText } from "../dom.js";
import { counted } from "../format.js";
import { get, subscribe } from "../stream.js";
import { VirtualList } from "../virtual_list.js";

/** Shows a topic. Returns a function that closes the view. */
export function openTopic(content, topic) {
  const about = el("p.found", { role: "status" });
  const problem = el("p.notice.bad", { role: "alert", hidden: true });
  const list = new VirtualList({
    label: `Partitions of ${topic}`,
    rowHeight: 40,
    load: (start, rows) => get("/api/topic", { name: topic, start, count: rows }),
    onPage: (page) => {
      problem.hidden = true;
      setText(about, `${counted(page.total, "partition")}${page.internal ? ", internal" : ""}${page.id ? `, id ${page.id}` : ""}`);
    },
    render: partitionRow,
    onError: (error) => { setText(problem, error.message); problem.hidden = false; },
  });
  content.append(el("p", {}, el("a", { href: "#/map" }, "← all topics")), el("h3", {}, topic), about, problem,
    el("p.legend", {}, "Replicas in their order of preference: ", el("span.replica.leader", { style: { "--broker": "#ccc" } }, "1"), " leads, ",
      el("span.replica.out", {}, "2"), " is not in sync, ", el("span.replica.offline", {}, "3"), " is offline."),
    list.element);
  let version;
  const end = subscribe("cluster", (cluster) => {
    if (version === cluster.version) return;
    version = cluster.version;
    list.refresh();
  });
  return () => { end(); list.close(); };
}

function partitionRow(row) {
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
    el("small", {}, row.leader === null ? "no leader" : `broker ${row.leader} leads, epoch ${row.leader_epoch}`, row.error ? ` · ${row.error}` : ""));
}
