// Builds the page's elements. Invariant: text becomes text nodes only, never HTML, so that nothing in a
// record, a name or an error is executed or changes the layout.

/**
 * Creates an element.
 * @param {string} name such as "div" or "div.tile.bad"
 * @param {object} attributes attributes; `on…` are listeners, `style` an object of CSS properties
 * @param {...any} children elements or texts; null and false are left out
 */
export function el(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  made.classList.add(...classes);
  setAttributes(made, attributes);
  made.append(...visible(children));
  return made;
}

function setAttributes(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [name, css] of Object.entries(value)) element.style.setProperty(name, css);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
}

function visible(children) {
  return children.flat(3).filter((child) => child !== null && child !== undefined && child !== false).map(readable);
}

// Control and bidirectional characters could hide or reorder what surrounds them.
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

function readable(child) {
  return child instanceof Node ? child : printable(child);
}

/** Escapes control and bidirectional characters of a text. */
export function printable(text) {
  return String(text).replace(UNSAFE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Replaces an element's children, and keeps the focus on an element with the same data-key. */
export function replace(parent, ...children) {
  const focused = parent.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  parent.replaceChildren(...visible(children));
  if (focused !== undefined) parent.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

/** Replaces a text if it differs, so that screen readers do not announce an unchanged text again. */
export function setText(element, text) {
  const shown = printable(text);
  if (element.textContent !== shown) element.textContent = shown;
}

/** Creates a choice of texts. */
export function choice(id, values) {
  return el("select", { id }, values.map((each) => el("option", { value: each }, each)));
}

/** Creates a table: a caption for screen readers, column heads, and rows of cells. */
export function table(caption, heads, rows, attributes = {}) {
  // The heading of a column of numbers is also aligned to the right.
  const isNumber = (i) => rows[0]?.[i] instanceof HTMLTableCellElement && rows[0][i].classList.contains("number");
  const head = heads.map((name, i) => el(isNumber(i) ? "th.number" : "th", { scope: "col", role: "columnheader" }, name));
  return el(
    "div.scroll",
    { tabindex: "0", role: "region", "aria-label": caption },
    // On a phone, rows become blocks and cells show their heads; the roles keep it a table.
    el("table", { role: "table", ...attributes }, el("caption.hidden", {}, caption), el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, head)),
      el("tbody", { role: "rowgroup" }, rows.map((cells) => el("tr", { role: "row" }, cells.map((cell, i) => cellOf(cell, i, heads[i])))))),
  );
}

function cellOf(cell, i, head) {
  const made = cell instanceof HTMLTableCellElement ? cell : i === 0 ? el("th", { scope: "row" }, cell) : el("td", {}, cell);
  made.setAttribute("role", made.tagName === "TH" ? "rowheader" : "cell");
  if (head) made.dataset.head = head;
  return made;
}
