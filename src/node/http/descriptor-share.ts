import { readFileSync } from 'node:fs';

/** Approximately what a process has open without a client and a database. */
const OWN = 48;
/** Approximately what databases and indexes take at most with the default settings: their data files and journals. */
const OF_STORAGE = 320;

/**
 * How many connections may be open so that files can still be opened: all that the process may have open, minus its own and what storage
 * needs, which is at most half of the rest. Undefined if the system doesn't report it (Linux does), or has no limit.
 */
export function connectionsWithinDescriptors(limit = openFilesLimit()): number | undefined {
  if (limit === undefined) return undefined;
  const rest = Math.max(4, limit - OWN);
  return rest - Math.min(OF_STORAGE, Math.floor(rest / 2));
}

/** How many connections replications may have open together at most, and their share of the files that the process may have open. */
const OF_REPLICATIONS = 512;
const PART_OF_REPLICATIONS = 4;

export function connectionsOfReplications(limit = openFilesLimit()): number {
  return Math.min(OF_REPLICATIONS, Math.floor((limit ?? Number.POSITIVE_INFINITY) / PART_OF_REPLICATIONS));
}

function openFilesLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
