/** Documents in the bodies of requests. */
import type { IncomingDocument } from '../../documents/contract.ts';
import {
  type IncomingBulk,
  parseBulkInSteps,
  type ReadCount,
  readBulkInSteps,
  scanBulkInSteps,
} from '../../documents/incoming/read-bulk.ts';
import { readDocumentInSteps } from '../../documents/incoming/read-document.ts';
import { type MaybePromise, whenReady } from '../../shared/maybe-promise.ts';
import { inTurns, LONG_STEP, Pace, type Steps } from '../../shared/turn.ts';
import { parseBody, readText } from '../request/bodies.ts';
import { DOCUMENTS } from '../request/body-bounds.ts';
import type { Context } from '../request/context.ts';
import { holdMade } from '../request/parsed-memory.ts';

/** Documents of a bulk request that are not counted. Shorter requests have no more. A thousand requests may come at once. */
const FREE_DOCUMENTS = 64;
const FREE_LENGTH = 3 * FREE_DOCUMENTS;
/** Memory is held for so many at once. */
const HELD_AT_ONCE = 1_024;
/** Bytes that a document takes from its reading until it is written, beside its text: measured with the smallest ones. */
const MEMORY_OF_EACH = 2_048;

/** The document that the request's body is. */
export function readDocumentBody(context: Context): MaybePromise<IncomingDocument> {
  return whenReady(readText(context), (text) => inTurns(readDocumentInSteps(text)));
}

/** The documents of a `_bulk_docs` request. */
export function readBulkBody(context: Context): MaybePromise<IncomingBulk> {
  return whenReady(readText(context), (text) =>
    text.length <= FREE_LENGTH ? inTurns(readBulkInSteps(text)) : readLongBulk(context, text),
  );
}

async function readLongBulk(context: Context, text: string): Promise<IncomingBulk> {
  const count = { documents: 0 };
  const scanned = await countedInTurns(context, count, scanBulkInSteps(text, count));
  if (scanned !== undefined) return scanned;
  const value = await parseBody(context, text, DOCUMENTS);
  return countedInTurns(context, count, parseBulkInSteps(text, value, count));
}

/** As `inTurns`. Memory is held for the documents while they are counted. */
async function countedInTurns<T>(context: Context, count: ReadCount, steps: Steps<T>): Promise<T> {
  const pace = new Pace();
  let held = FREE_DOCUMENTS;
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (count.documents > held) {
      const before = (held - FREE_DOCUMENTS) * MEMORY_OF_EACH;
      await holdMade(context, HELD_AT_ONCE * MEMORY_OF_EACH, 'documents', before);
      held += HELD_AT_ONCE;
    }
    if (value === LONG_STEP || pace.isDue) await pace.endTurn();
  }
}
