/** Documents in request bodies. */

import { must } from '../../base/shared/assert.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import { type CooperativeTask, LONG_STEP, runCooperatively, TimeSlice } from '../../base/shared/turn.ts';
import {
  type IncomingBulk,
  parseBulkInSteps,
  type ReadCount,
  readBulkInSteps,
  scanBulkInSteps,
} from '../../database/documents/incoming/read-bulk.ts';
import { parseBody, readText } from '../request/bodies.ts';
import { DOCUMENTS } from '../request/body-bounds.ts';
import type { Context } from '../request/context.ts';
import { holdMade } from '../request/parsed-memory.ts';

/** Documents of a bulk request that are not counted. Shorter requests have no more. A thousand requests may come at once. */
const FREE_DOCUMENTS = 64;
const FREE_LENGTH = 3 * FREE_DOCUMENTS;
/** Memory is held for at least this many at once. */
const HELD_AT_ONCE = 1_024;
/** From this share of the budget on, memory for all documents is held at once: bit by bit, the oldest of several such requests would far exceed it */
const LARGE_SHARE = 1 / 8;
/** Bytes that a document takes from its reading until it is written, in addition to its text: measured with the smallest ones. */
const MEMORY_OF_EACH = 2_048;

/** Reads the documents of a `_bulk_docs` request. */
export function readBulkBody(context: Context): MaybePromise<IncomingBulk> {
  return whenReady(readText(context), (text) =>
    text.length <= FREE_LENGTH ? runCooperatively(readBulkInSteps(text)) : readLongBulk(context, text),
  );
}

async function readLongBulk(context: Context, text: string): Promise<IncomingBulk> {
  const read = (steps: (count: ReadCount) => CooperativeTask<IncomingBulk | undefined>) =>
    countedInTurns(context, text, steps);
  const scanned = await read((count) => scanBulkInSteps(text, count));
  if (scanned !== undefined) return scanned;
  const value = await parseBody(context, text, DOCUMENTS);
  return must(await read((count) => parseBulkInSteps(text, value, count)));
}

/** Like `runCooperatively`. Holds memory for the documents while they are counted, and gives back what proves to be too much. */
async function countedInTurns(
  context: Context,
  text: string,
  read: (count: ReadCount) => CooperativeTask<IncomingBulk | undefined>,
): Promise<IncomingBulk | undefined> {
  const timeSlice = new TimeSlice();
  const count = { documents: 0, characters: 0 };
  const held = new HeldDocuments(context, text.length);
  const steps = read(count);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) {
      held.settle(value?.documents.length ?? 0);
      return value;
    }
    if (held.isShortOf(count)) await held.growTo(count);
    if (value === LONG_STEP || timeSlice.isDue) await timeSlice.endTurn();
  }
}

/** Memory for the documents of a request. Estimates how many will come from the length of those since it last grew. */
class HeldDocuments {
  readonly #context: Context;
  readonly #length: number;
  #held = FREE_DOCUMENTS;
  #seen: ReadCount = { documents: 0, characters: 0 };

  constructor(context: Context, length: number) {
    this.#context = context;
    this.#length = length;
  }

  isShortOf({ documents }: ReadCount): boolean {
    return documents > this.#held;
  }

  growTo({ documents, characters }: ReadCount): MaybePromise<void> {
    const seen = this.#seen;
    this.#seen = { documents, characters };
    const lengthOfEach = (characters - seen.characters) / (documents - seen.documents);
    const expected = Math.ceil((this.#length - characters) / lengthOfEach);
    const { limit } = this.#context.services.bytesInFlight;
    const before = this.#bytesOf(this.#held);
    const most = Math.floor((limit - before) / MEMORY_OF_EACH);
    const isLarge = this.#bytesOf(documents + expected) > limit * LARGE_SHARE;
    const more = isLarge ? Math.max(HELD_AT_ONCE, Math.min(documents - this.#held + expected, most)) : HELD_AT_ONCE;
    this.#held += more;
    return holdMade(this.#context, more * MEMORY_OF_EACH, 'documents', before);
  }

  /** Gives back what is held for more documents than this. */
  settle(documents: number): void {
    this.#context.memory.giveBack(this.#bytesOf(this.#held) - this.#bytesOf(documents));
  }

  #bytesOf(documents: number): number {
    return Math.max(0, documents - FREE_DOCUMENTS) * MEMORY_OF_EACH;
  }
}
