// The Simulation page: a mock cluster with traffic, actions on it, and the reactions of its client.

import { el, setText } from "../dom.js";
import { repeat } from "../repeat.js";
import { actionForms } from "../simulation/actions.js";
import { drawCluster, drawTraffic } from "../simulation/cluster.js";
import { scenarioCards } from "../simulation/scenarios.js";
import { get, post, subscribe } from "../stream.js";
import { timeLine } from "../time_line.js";

export const name = "simulation";
export const title = "Simulation";
export const lead = "A cluster in this process, with a producer and a consumer of its topic. Break it, and watch what the client does, and why.";

const INTERVAL = 1000;

/** Shows the page. Returns a function that closes it. */
export function open(content) {
  const problem = el("p.notice.bad", { role: "alert", hidden: true });
  const traffic = el("ul.totals", { "aria-label": "Traffic" });
  const racks = el("div.racks");
  const faults = el("div");
  const line = timeLine("Commentary");
  const scenarios = el("section", { "aria-labelledby": "scenarios-title" }, el("h3", { id: "scenarios-title" }, "Scenarios"));
  const actions = el("section", { "aria-labelledby": "actions-title" }, el("h3", { id: "actions-title" }, "Actions"));
  line.element.classList.add("commentary");
  content.append(problem, el("div.simulation", {},
    el("section", { "aria-labelledby": "cluster-title" }, el("h3", { id: "cluster-title" }, "Cluster"), traffic, racks, faults),
    line.element, scenarios, actions));

  let ended = false;
  const fail = (error) => { if (!ended) { setText(problem, error.message); problem.hidden = false; } };
  const send = async (route, body) => {
    problem.hidden = true;
    try {
      await post(`/api/simulation/${route}`, body);
      await refresh();
    } catch (error) {
      fail(error);
    }
  };
  let cards, forms;
  const refresh = async () => {
    const state = await get("/api/simulation");
    if (ended) return;
    if (!cards) {
      cards = scenarioCards(state.scenarios, send);
      forms = actionForms(state, send);
      scenarios.append(...cards.elements);
      actions.append(...forms.elements);
    }
    drawTraffic(traffic, state);
    drawCluster(racks, faults, state);
    cards.draw(state);
    forms.draw(state);
  };
  const ends = [
    repeat(INTERVAL, refresh, fail),
    subscribe("fresh events", () => { if (cards) refresh().catch(fail); }),
  ];
  return () => { ended = true; ends.forEach((end) => end()); line.close(); };
}
