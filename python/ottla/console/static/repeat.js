// Repeats a request while a page is open. Invariant: two requests never overlap, however long one takes.

import { isLocked } from "./stream.js";

/**
 * Calls a function periodically.
 * @param {number} interval milliseconds from the end of a call to the next
 * @returns {() => void} stops the calls
 */
export function repeat(interval, work, onError) {
  let ended = false;
  let timer;
  const run = async () => {
    try {
      if (!document.hidden && !isLocked()) await work();
    } catch (error) {
      if (!ended && !isLocked()) onError(error);
    }
    if (!ended) timer = setTimeout(run, interval);
  };
  run();
  return () => { ended = true; clearTimeout(timer); };
}
