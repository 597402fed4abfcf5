// Numbers, times and sizes as texts.

const NUMBER = new Intl.NumberFormat("en");

/** A whole number with separators; "–" if it is unknown. */
export function count(value) {
  return value === null || value === undefined ? "–" : NUMBER.format(Math.round(value));
}

/** A number with a noun: "1 topic", "2 topics". */
export function counted(value, noun) {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** The number of rows of a list: "2 quotas", or "2 of 5 quotas" if only some are shown. */
export function countedRows({ rows, total }, noun) {
  return `${rows.length < total ? `${count(rows.length)} of ` : ""}${counted(total, noun)}`;
}

/** A rate or another number with three digits; "–" if it is unknown. */
export function number(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 100) return count(value);
  return size >= 10 ? value.toFixed(1) : value.toFixed(value === 0 ? 0 : 2);
}

/** Seconds as a text with a unit. */
export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 0.001) return `${Math.round(value * 1e6)} µs`;
  if (value < 0.0995) return `${(value * 1000).toFixed(1)} ms`;
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 60) return `${value.toFixed(1)} s`;
  if (value < 3600) return `${Math.floor(value / 60)} min ${Math.floor(value % 60)} s`;
  if (value < 86400) return `${Math.floor(value / 3600)} h ${Math.floor((value % 3600) / 60)} min`;
  return `${Math.floor(value / 86400)} d ${Math.floor((value % 86400) / 3600)} h`;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Bytes as a text with a binary unit. */
export function bytes(value) {
  if (value === null || value === undefined) return "–";
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) { value /= 1024; unit += 1; }
  return `${unit === 0 ? Math.round(value) : number(value)} ${UNITS[unit]}`;
}

/** A time of day from seconds since 1970. */
export function clock(time) {
  return new Date(time * 1000).toLocaleTimeString("en-GB");
}
