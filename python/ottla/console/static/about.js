// The console's own facts: what it shows, and what it allows. They are requested once.

import { get } from "./stream.js";

/** The promise of {version, kind, group_id, allow_changes, has_registry, has_gateways, simulation, cluster}. */
export const about = get("/api/about");
