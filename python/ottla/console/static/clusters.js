// The first page of a console of several clusters: their names, and how each was when it was last asked.

import { el, replace, setText, table } from "./dom.js";
import { clock, counted } from "./format.js";
import * as intervals from "./intervals.js";
import { repeat } from "./repeat.js";
import { getClusters, isLocked, subscribe } from "./stream.js";

const status = document.getElementById("status");
const list = document.getElementById("list");

function show(text, state) {
  setText(status, text);
  status.className = state;
}

let drawn = "";

function draw({ version, allow_changes: allowChanges, clusters }) {
  const failed = clusters.filter((each) => each.state === "problem").length;
  show(`${counted(clusters.length, "cluster")}${failed ? `, ${counted(failed, "problem")}` : ""}`, failed ? "bad" : "good");
  // Rows that stay as they are keep the focus and the selection.
  const now = JSON.stringify(clusters);
  if (now === drawn) return;
  drawn = now;
  replace(list, table("Clusters", ["cluster", "servers", "state", "last asked"], clusters.map(row)));
  if (!document.querySelector(".about")) document.querySelector(".bar").append(el("p.about", {}, `ottla ${version}${allowChanges ? " · changes allowed" : " · read-only"}`));
}

function row({ name, path, servers, state, problem, time }) {
  return [
    el("a", { href: path, "data-key": path }, name),
    servers.split(",").join(", ") || "–",
    el(`td.${CLASSES[state]}`, {}, el("span", {}, TEXTS[state], problem ? `: ${problem}` : "")),
    el("td.number", {}, time === null ? "–" : clock(time)),
  ];
}

const TEXTS = { not_opened: "not opened yet", connecting: "connecting …", reachable: "reachable", problem: "problem" };
const CLASSES = { not_opened: "soft", connecting: "warn", reachable: "good", problem: "bad" };

repeat(intervals.CLUSTERS, async () => draw(await getClusters()), (error) => show(error.message, "bad"));
subscribe("link", () => { if (isLocked()) show("the console was restarted: open the new link that it printed", "bad"); });
