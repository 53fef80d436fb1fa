/**
 * How much memory is held for what a body contains, in addition to its text, and how much it can contain: values
 * (docs/limits.md#bodies-of-requests) and attachments (docs/http/attachments.md#attachments-in-documents).
 */

import { DatabaseError } from '../../base/errors/database-error.ts';
import type { Survey } from '../../base/json/survey.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { MAX_ATTACHMENTS, tooManyAttachments } from '../../database/documents/incoming/incoming-attachment.ts';
import type { Context } from './context.ts';

/** Bytes of memory for what is built from values, in addition to the values themselves. */
export interface MadeOfValues {
  /** For each member of an object. */
  readonly member?: number;
}

/** Bytes, measured on V8: of an empty value in a list, of a name with its place in an object of thousands, and of a short string. */
const CONTAINER = 64;
const MEMBER = 96;
const FURTHER = 32;
/** Less than this is not counted. */
const FREE_BYTES = 65_536;

/** To be called before the values are built. Fails as `holdMade` does. */
export function holdValues(context: Context, counted: Survey, made: MadeOfValues = {}): MaybePromise<void> {
  const { containers, members, further } = counted;
  const { member = 0 } = made;
  return holdMade(context, containers * CONTAINER + members * (MEMBER + member) + further * FURTHER, 'values');
}

/**
 * Holds memory for what is built from a body; `before` was held for that already. Fails with `too_large` if it is more than all requests may
 * take, and with `too_busy` if others hold it for too long.
 */
export function holdMade(context: Context, bytes: number, what: string, before = 0): MaybePromise<void> {
  if (bytes <= FREE_BYTES) return;
  const { limit } = context.services.bytesInFlight;
  if (before + bytes > limit) throw tooMany(what, limit);
  const { memory } = context;
  memory.expect(memory.bytes + bytes);
  return context.holdBytes(bytes);
}

function tooMany(what: string, limit: number): DatabaseError {
  const reason = `the request entity is too large: its ${what} would take more memory than the ${limit} bytes of httpd/max_bytes_in_flight; nothing was changed. Send fewer ${what} at a time.`;
  return new DatabaseError('too_large', reason);
}

/** This many are not counted: their bodies take more. */
const FREE = 16;
/** What a small one takes from its arrival until its document is written, in addition to its bytes. */
const MEMORY_OF_EACH = 4_096;

/**
 * To be called before a request that has brought `before` attachments brings `more`. Fails with `too_large` if they are too many, and
 * with `too_busy` if there is no memory for them.
 */
export function holdAttachments(context: Context, before: number, more: number): MaybePromise<void> {
  const after = before + more;
  if (after > MAX_ATTACHMENTS) throw tooManyAttachments();
  const counted = Math.max(FREE, after) - Math.max(FREE, before);
  if (counted > 0) return context.holdBytes(counted * MEMORY_OF_EACH);
}
