// How often pages ask the server, in milliseconds. The server shares results between pages (workers.py).

export const GROUPS = 3000;
export const GROUP = 3000;
export const WRITES = 5000;
export const TOPIC = 5000;
export const BROKER = 5000;
export const DISKS = 30_000;
export const CLUSTERS = 5000;
export const CLIENTS = 3000;
export const TAIL = 1000;
