/** How the threads that run functions share the memory that all of them may take (setting `query_server_config/memory_bytes`). */

/** What the isolates of one thread may take. */
export interface MemoryShare {
  /** All of them together. */
  readonly threadBytes: number;
  /** Each of them. */
  readonly isolateBytes: number;
}

export interface MemoryShares {
  /** The share of the thread that calls functions. */
  readonly local: MemoryShare;
  /** The share of each worker. */
  readonly worker: MemoryShare;
  /** As many workers as were requested, or as there is memory for. */
  readonly workers: number;
}

/** How many isolates a thread may have at a time, by default. */
export const MAX_ISOLATES = 16;

const MEGABYTE = 1024 * 1024;
/** What all of them may take by default. */
const TOTAL_BYTES = 1024 * MEGABYTE;
/** What one isolate may have at most. */
const MAX_BYTES = 128 * MEGABYTE;
/** An isolate of 32 MB, and an unused one in addition. */
const MIN_THREAD_BYTES = 48 * MEGABYTE;
const MIN_ISOLATE_BYTES = 32 * MEGABYTE;
/** The part of the thread that calls functions, if there are workers: it keeps small isolates of many programs. */
const LOCAL_PART = 3 / 8;
/** The part of its thread's memory that one isolate may take. */
const ISOLATE_PART = 2 / 3;

export function shareMemory(totalBytes = TOTAL_BYTES, workers = 0): MemoryShares {
  const localBytes = workers === 0 ? totalBytes : totalBytes * LOCAL_PART;
  const local = shareOf(localBytes);
  const rest = totalBytes - local.threadBytes;
  const count = Math.min(workers, Math.max(1, Math.floor(rest / MIN_THREAD_BYTES)));
  return { local, worker: shareOf(rest / Math.max(1, count)), workers: count };
}

function shareOf(bytes: number): MemoryShare {
  const threadBytes = Math.max(MIN_THREAD_BYTES, Math.floor(bytes));
  const isolateBytes = Math.min(MAX_BYTES, Math.max(MIN_ISOLATE_BYTES, Math.floor(threadBytes * ISOLATE_PART)));
  return { threadBytes, isolateBytes };
}
