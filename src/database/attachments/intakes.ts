/** Stores the attachments of one request: while small ones are being written to the file, the next one is read. */
import { TimeSlice } from '../../base/shared/turn.ts';
import type { StoredUpload } from './intake.ts';

/** Uploads in progress at once: each waits for a commit, which many can share. */
const MAX_AT_ONCE = 64;
/** Larger attachments go one by one, so that no more than a megabyte is held. */
const SMALL_BYTES = 16_384;

type Chunks = AsyncIterable<Uint8Array>;

export class Intakes<K> {
  readonly #all = new Map<K, Promise<StoredUpload>>();
  readonly #underWay = new Set<Promise<unknown>>();

  get count(): number {
    return this.#all.size;
  }

  has(key: K): boolean {
    return this.#all.has(key);
  }

  /** Resolves when the chunks are read. Fails if this attachment failed by then; `settle` reports those that fail later. */
  async add(key: K, chunks: Chunks, take: (chunks: Chunks) => Promise<StoredUpload>): Promise<void> {
    const read = { bytes: 0, end: (): void => undefined };
    const isRead = new Promise<void>((resolve) => {
      read.end = resolve;
    });
    const taken = take(watched(chunks, read));
    this.#all.set(key, taken);
    const done: Promise<unknown> = taken.catch(() => undefined).finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
    await Promise.race([isRead, taken]);
    if (read.bytes > SMALL_BYTES) await taken;
    else if (this.#underWay.size >= MAX_AT_ONCE) await Promise.race(this.#underWay);
  }

  /** Returns the uploads that were added, when all are stored. Fails if one failed. */
  async settle(): Promise<Map<K, StoredUpload>> {
    const settled = new Map<K, StoredUpload>();
    const timeSlice = new TimeSlice();
    for (const [key, taken] of this.#all) {
      // Most of them are stored already: waiting for these alone lets no other task run.
      if (timeSlice.isDue) await timeSlice.rest();
      settled.set(key, await taken);
    }
    return settled;
  }

  /** Discards all uploads that were added. Resolves when none is under way. */
  async discard(): Promise<void> {
    for (const outcome of await Promise.allSettled(this.#all.values())) {
      if (outcome.status === 'fulfilled') outcome.value.discard();
    }
  }
}

async function* watched(chunks: Chunks, read: { bytes: number; readonly end: () => void }): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of chunks) {
      read.bytes += chunk.length;
      yield chunk;
    }
  } finally {
    read.end();
  }
}
