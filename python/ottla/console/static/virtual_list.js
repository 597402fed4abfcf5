// A list of any length that only creates and requests the rows in view.
// Invariant: all rows have the same height, and elements exist for at most a few screens of rows.

import { el } from "./dom.js";

const PAGE = 50;

export class VirtualList {
  /**
   * @param {object} options
   * @param {string} options.label the list's name for screen readers
   * @param {number} options.rowHeight pixels of a row
   * @param {(start: number, count: number) => Promise<{total: number, rows: any[]}>} options.load
   * @param {(row: any, index: number) => Element} options.render
   * @param {(page: {total: number}) => void} options.onPage called with each page that is shown
   * @param {(error: Error) => void} options.onError
   * @param {(rows: Element[]) => void} options.onDraw called with the elements in view
   */
  constructor({ label, rowHeight, load, render, onPage, onError, onDraw = () => {} }) {
    this.options = { rowHeight, load, render, onPage, onError, onDraw };
    this.pages = new Map();
    this.loading = new Set();
    this.total = 0;
    this.generation = 0;
    this.sizer = el("div.rows", { role: "list", "aria-label": label });
    this.element = el("div.virtual", { tabindex: "0", role: "region", "aria-label": label, onscroll: () => this.draw() }, this.sizer);
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.element);
  }

  close() {
    this.generation += 1;
    this.resized.disconnect();
  }

  /** Shows another list from its top. */
  async reset() {
    this.pages.clear();
    this.element.scrollTop = 0;
    await this.refresh();
  }

  /** Requests the rows in view again, for example after a change. */
  async refresh() {
    this.generation += 1;
    this.loading.clear();
    const { first, last } = this.range();
    const wanted = [];
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page += 1) wanted.push(page);
    for (const page of this.pages.keys()) if (!wanted.includes(page)) this.pages.delete(page);
    await Promise.all(wanted.map((page) => this.loadPage(page)));
  }

  range() {
    const { rowHeight } = this.options;
    const first = Math.max(0, Math.floor(this.element.scrollTop / rowHeight) - 5);
    const last = Math.ceil((this.element.scrollTop + this.element.clientHeight) / rowHeight) + 5;
    return { first, last: Math.min(last, Math.max(0, this.total - 1)) };
  }

  async loadPage(page) {
    if (this.loading.has(page)) return;
    this.loading.add(page);
    const generation = this.generation;
    try {
      const found = await this.options.load(page * PAGE, PAGE);
      if (generation !== this.generation) return;
      this.total = found.total;
      this.pages.set(page, found.rows);
      this.options.onPage(found);
      this.draw();
    } catch (error) {
      if (generation === this.generation) this.options.onError(error);
    } finally {
      if (generation === this.generation) this.loading.delete(page);
    }
  }

  draw() {
    const { rowHeight, render, onDraw } = this.options;
    this.sizer.style.setProperty("height", `${this.total * rowHeight}px`);
    this.element.style.setProperty("--rows-height", `${Math.max(1, this.total) * rowHeight}px`);
    const { first, last } = this.range();
    const made = [];
    for (let index = first; index <= last && index < this.total; index += 1) {
      const rows = this.pages.get(Math.floor(index / PAGE));
      if (rows === undefined) {
        this.loadPage(Math.floor(index / PAGE));
        continue;
      }
      if (rows[index % PAGE] === undefined) continue;
      const row = render(rows[index % PAGE], index);
      row.setAttribute("role", "listitem");
      row.setAttribute("aria-setsize", this.total);
      row.setAttribute("aria-posinset", index + 1);
      row.style.setProperty("top", `${index * rowHeight}px`);
      row.style.setProperty("height", `${rowHeight}px`);
      made.push(row);
    }
    const focused = this.sizer.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    this.sizer.replaceChildren(...made);
    onDraw(made);
    if (focused !== undefined) this.sizer.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }
}
