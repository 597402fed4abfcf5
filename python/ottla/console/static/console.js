// The page's frame: navigation, the state of the link to the console, and the page in view.

import { about } from "./about.js";
import { openSwitch } from "./cluster_switch.js";
import { el, printable, replace, setText } from "./dom.js";
import { counted } from "./format.js";
import * as access from "./pages/access.js";
import * as clients from "./pages/clients.js";
import * as connections from "./pages/connections.js";
import * as doctor from "./pages/doctor.js";
import * as groups from "./pages/groups.js";
import * as map from "./pages/map.js";
import * as messages from "./pages/messages.js";
import * as rates from "./pages/rates.js";
import * as registry from "./pages/registry.js";
import * as simulation from "./pages/simulation.js";
import { latest, open, subscribe } from "./stream.js";

let pages = [map, connections, rates, groups, messages, access, doctor];

const content = document.getElementById("content");
let close = () => {};
// In a console of several clusters.
let clusterName = null;

function show() {
  const [, name = "", query = ""] = /^#\/([^?]*)\??(.*)$/.exec(location.hash) ?? [];
  const page = pages.find((each) => each.name === name) ?? pages[0];
  close();
  close = () => {};
  document.title = [page.title, clusterName, "ottla console"].filter(Boolean).map(printable).join(" · ");
  for (const link of document.querySelectorAll("#pages a")) {
    link.toggleAttribute("aria-current", link.dataset.page === page.name);
    if (link.dataset.page !== page.name) continue;
    link.setAttribute("aria-current", "page");
    // On a narrow screen, the bar scrolls.
    link.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  replace(content, el("h2", {}, page.title), el("p.lead", {}, page.lead));
  close = page.open(content, new URLSearchParams(query));
}

function status() {
  const status = document.getElementById("status");
  const problem = latest("problem");
  const linked = latest("link");
  let text = "connecting …";
  let state = "waiting";
  if (linked === "locked") [text, state] = ["the console was restarted: open the new link that it printed", "bad"];
  else if (linked === false) [text, state] = ["the console does not respond; trying again …", "bad"];
  else if (problem) [text, state] = [problem.message, "bad"];
  else if (latest("cluster")) [text, state] = health(latest("cluster"));
  setText(status, text);
  status.className = state;
}

// "live", or what is wrong with the cluster, in one line.
function health(cluster) {
  const gone = cluster.brokers.filter((broker) => broker.missing).map((broker) => broker.id);
  const named = gone.length > 3 ? `${counted(gone.length, "broker")} gone` : gone.length ? `broker${gone.length > 1 ? "s" : ""} ${gone.join(", ")} gone` : null;
  const parts = [
    named,
    cluster.offline ? `${counted(cluster.offline, "partition")} without a leader` : null,
    cluster.under_replicated ? `${counted(cluster.under_replicated, "partition")} under-replicated` : null,
  ].filter(Boolean);
  if (!parts.length) return ["live", "good"];
  return [`degraded: ${parts.join(", ")}`, cluster.offline ? "bad" : "warn"];
}

async function start() {
  // Show the pages even if the console does not respond.
  const found = await about.catch(() => ({}));
  clusterName = found.cluster ?? null;
  if (clusterName !== null) {
    openSwitch(clusterName);
    setText(document.getElementById("cluster-name"), clusterName);
  }
  if (found.has_gateways) pages = [...pages.slice(0, 2), clients, ...pages.slice(2)];
  if (found.has_registry) pages = [...pages.slice(0, -1), registry, doctor];
  if (found.simulation) pages = [simulation, ...pages];
  replace(document.getElementById("pages"),
    pages.map((page) => el("li", {}, el("a", { href: `#/${page.name}`, "data-page": page.name }, page.title))));
  for (const kind of ["link", "problem", "cluster"]) subscribe(kind, status);
  subscribe("cluster", (cluster) => {
    const id = cluster.cluster_id ? `cluster ${cluster.cluster_id}` : "cluster";
    setText(document.getElementById("cluster-name"), clusterName === null ? id : `${clusterName} · ${id}`);
  });
  open(["cluster", "connections", "metrics", "requests", "events", "problem"]);
  addEventListener("hashchange", () => { show(); content.focus({ preventScroll: true }); scrollTo(0, 0); });
  show();
  const { kind, group_id, version, allow_changes } = await about;
  const of = group_id ? `${kind} of group ${group_id}` : kind;
  document.querySelector(".bar").append(el("p.about", {}, `${of} · ottla ${version}${allow_changes ? " · changes allowed" : " · read-only"}`));
}

start();
