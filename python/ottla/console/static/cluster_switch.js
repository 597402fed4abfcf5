// The links to the other clusters of a console of several, which keep the kind of page that is open.

import { el, replace } from "./dom.js";
import * as intervals from "./intervals.js";
import { repeat } from "./repeat.js";
import { getClusters } from "./stream.js";

// Of more clusters, there are links to this one and to those that are open; all are on the first page.
const MOST = 12;

/** Shows the links. `current` is the name of this cluster. */
export function openSwitch(current) {
  const place = document.getElementById("clusters");
  const list = place.querySelector("ul");
  let clusters = [];
  let drawn = "";
  const shown = () => {
    if (clusters.length <= MOST) return clusters;
    const own = clusters.filter((each) => each.name === current);
    return [...own, ...clusters.filter((each) => each.name !== current && each.state !== "not_opened")].slice(0, MOST);
  };
  const draw = () => {
    // A topic or a group of this cluster may not exist in another one.
    const page = /^#\/[^?]*/.exec(location.hash)?.[0] ?? "";
    const links = [
      el("li", {}, el("a", { href: "/", "data-key": "/" }, "All clusters")),
      shown().map(({ name, path, state, problem }) => el("li", {},
        el(`a${state === "problem" ? ".bad" : ""}`, { href: `${path}${page}`, "data-key": path, title: problem, "aria-current": name === current ? "true" : null },
          state === "problem" ? [el("span", { "aria-hidden": "true" }, "✗ "), el("span.hidden", {}, "has a problem: ")] : null, name))),
    ];
    replace(list, links);
    place.hidden = false;
  };
  const refresh = async () => {
    ({ clusters } = await getClusters());
    const now = JSON.stringify(clusters.map(({ time, ...rest }) => rest));
    if (now !== drawn) draw();
    drawn = now;
  };
  // The header says that the console does not respond.
  repeat(intervals.CLUSTERS, refresh, () => {});
  addEventListener("hashchange", draw);
}
