import { setFlagsFromString } from 'node:v8';

/**
 * Limits how fast this process's JavaScript heap grows, for a server that mostly makes short-lived texts: between two
 * collections the old generation grows by 60 % of its live size instead of several times that. Measured with 250,000
 * documents of random ids written in batches: 220 MB of memory instead of 360, in the same time. (The young generation's
 * size is fixed when a process starts, so it can't be set here.)
 */
export function limitHeapGrowth(): void {
  setFlagsFromString('--heap-growing-percent=60');
}
