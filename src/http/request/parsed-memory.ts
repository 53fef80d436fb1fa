/** How much memory the values of a body take in addition to its text, and how many there can be (docs/limits.md#bodies-of-requests). */
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { Survey } from '../../base/json/survey.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
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
