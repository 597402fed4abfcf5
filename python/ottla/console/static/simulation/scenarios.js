// The scenarios of a simulation: a card for each, the seed, and the progress or outcome of the run.

import { el, replace } from "../dom.js";

/** Creates the cards: their elements, and `draw(state)`. `send(route, body)` is called to run and to cancel. */
export function scenarioCards(scenarios, send) {
  let running = null;
  const seed = el("input", { id: "scenario-seed", type: "number", min: 0, max: 4294967295, step: 1, placeholder: "any", inputmode: "numeric" });
  const result = el("div", { role: "status" });
  const buttons = new Map();
  const cards = scenarios.map((scenario) => {
    // One button both starts and cancels, so it keeps the focus when the scenario starts or the page redraws.
    const button = el("button", {
      type: "button", "aria-describedby": `about-${scenario.name}`,
      onclick: () => {
        if (running) send("cancel", {});
        else send("scenario", { name: scenario.name, seed: seed.value === "" ? null : Number(seed.value) });
      },
    });
    const progress = el("p.found");
    buttons.set(scenario.name, { button, progress, title: scenario.title });
    return el("li.card", { "data-scenario": scenario.name }, el("h4", {}, scenario.title),
      el("p", { id: `about-${scenario.name}` }, scenario.about), el("div.controls", {}, button, progress));
  });

  const draw = (state) => {
    running = state.running;
    for (const [name, { button, progress, title }] of buttons) {
      const isThis = running?.name === name;
      label(button, isThis ? "Cancel" : "Run", title);
      button.disabled = running !== null && !isThis;
      progress.textContent = isThis ? `step ${running.step} of ${running.steps}, seed ${running.seed}` : "";
      button.closest(".card").classList.toggle("current", isThis);
    }
    const text = running ? `running ${running.name} ${running.seed}` : JSON.stringify(state.last);
    if (result.dataset.shown === text) return;
    result.dataset.shown = text;
    replace(result, running ? el("p", {}, `Running: ${running.title} (seed ${running.seed}). The actions wait until it ends.`) : state.last ? ending(state.last, seed) : null);
  };
  const elements = [
    el("p.found", {}, "Each is a list of timed steps. The seed chooses brokers, partitions and times: the same seed makes the same steps."),
    el("div.controls", {}, el("label", { for: "scenario-seed" }, "Seed"), seed), result, el("ul.cards", { "aria-label": "Scenarios" }, cards)];
  return { elements, draw };
}

function label(button, text, title) {
  if (button.textContent === text) return;
  button.textContent = text;
  button.setAttribute("aria-label", `${text}: ${title}`);
}

const OUTCOMES = { finished: "ended", cancelled: "was cancelled", failed: "has failed" };

function ending(last, seed) {
  const again = el("button", { type: "button", "data-key": "same seed", onclick: () => { seed.value = last.seed; seed.focus(); } }, `Use seed ${last.seed} again`);
  const proof = last.proof;
  return el(`div.notice${proof?.holds ? ".done" : last.outcome === "cancelled" ? "" : ".bad"}`, { "data-outcome": last.outcome },
    el("p", {}, `“${last.title}” ${OUTCOMES[last.outcome]} (seed ${last.seed}).`),
    proof ? el("p", {}, el("b", {}, proof.holds ? "✓ Nothing was lost, nothing was written twice: " : "✗ The counts differ: "), sentence(proof)) : null,
    again);
}

function sentence(proof) {
  const shown = (value) => value.toLocaleString("en");
  const again = proof.read_again ? `; ${shown(proof.read_again)} were read a second time after a rebalance` : "";
  return `${shown(proof.sent)} records sent, ${shown(proof.acknowledged)} acknowledged, ${shown(proof.written)} written, ${shown(proof.read)} read${again}.`;
}
