// Where requests go. In a console of several clusters, the page and the requests of each are below its own path.

const base = location.pathname.replace(/\/[^/]*$/, "");

/** Returns the address of a path of this cluster, such as "/api/topics". */
export function address(path) {
  return `${base}${path}`;
}
