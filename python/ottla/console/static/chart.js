// A chart of the last ten minutes, drawn by uPlot, with its newest numbers as text.

import { el, replace } from "./dom.js";
import { clock, number } from "./format.js";

// The wheel contains uPlot. A checkout may lack it; then the chart shows numbers without curves.
const uPlot = await import("./vendor/uPlot.esm.js").then((module) => module.default, () => null);

const HEIGHT = 150;
const MINUTES = 10;

function style(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/**
 * Creates a chart: its element, `draw(samples)` and `close()`.
 * @param {object} options
 * @param {string} options.title
 * @param {string} options.unit the text after the title
 * @param {[string, (sample: any, samples: any[], index: number) => number | null][]} options.series
 * @param {(value: number | null) => string} [options.format]
 * @param {number} [options.minutes] the longest time that it shows
 */
export function chart({ title, unit, series, format = number, minutes = MINUTES }) {
  const now = el("dl.now");
  const canvas = el("div.canvas", { "aria-hidden": "true" });
  const element = el("figure.chart", { "data-chart": title }, el("figcaption", {}, el("b", {}, title), ` ${unit}`), now, canvas);
  const colors = ["--series-1", "--series-2", "--series-3"];
  let plot;
  const make = () => {
    if (uPlot === null) { replace(canvas, el("p", {}, "Curves need a library: `make console-assets` fetches it.")); return; }
    plot?.destroy();
    const axis = { stroke: style("--text-soft"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line") }, font: "12px system-ui" };
    plot = new uPlot({
      width: Math.max(200, canvas.clientWidth || 300), height: HEIGHT, legend: { show: false }, cursor: { show: false },
      scales: { x: { time: true }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1] } },
      axes: [{ ...axis, space: 90, values: (_, times) => times.map(clock) }, { ...axis, size: 72, values: (_, values) => values.map((value) => format(value)) }],
      series: [{}, ...series.map(([label], i) => ({ label, stroke: style(colors[i]), width: 2, dash: i ? [6, 3 * i] : undefined, points: { show: false }, spanGaps: false }))],
    }, data([]), canvas);
  };
  let samples = [];
  const data = (from) => {
    const times = from.map((sample) => sample.time);
    return [times, ...series.map(([, read]) => from.map((sample, i) => read(sample, from, i)))];
  };
  const redraw = () => { if (canvas.isConnected) { make(); draw(samples); } };
  const draw = (list) => {
    samples = list;
    if (!plot && canvas.isConnected) make();
    const columns = data(list);
    plot?.setData(columns);
    const end = list.length ? list[list.length - 1].time : 0;
    plot?.setScale("x", { min: end - Math.max(60, Math.min(60 * minutes, end - (list[0]?.time ?? end))), max: end });
    replace(now, series.map(([label], i) => {
      const values = columns[i + 1];
      return el("div", { style: { "--series": `var(${colors[i]})` } }, el("dt", {}, label), el("dd", {}, format(values[values.length - 1] ?? null)));
    }));
  };
  const resized = new ResizeObserver(() => plot?.setSize({ width: Math.max(200, canvas.clientWidth), height: HEIGHT }));
  resized.observe(canvas);
  const theme = matchMedia("(prefers-color-scheme: dark)");
  theme.addEventListener("change", redraw);
  return { element, draw, close: () => { resized.disconnect(); theme.removeEventListener("change", redraw); plot?.destroy(); } };
}
