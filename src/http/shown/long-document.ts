/** Long documents that are read as a whole count as the bodies of such requests do. */
import { FREE_BYTES } from '../../base/shared/byte-budget.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { Context } from '../request/context.ts';

/** For each byte of a document that is read to be written elsewhere. */
export const COPIED = 4;
/** For each byte of one that a function sees: its text, those on their way to a sandbox, and what it becomes there beside the sandbox's own memory. */
export const CALLED_WITH = 12;

/**
 * Counts a document of so many bytes until the request is answered, after waiting for others where much is under way. Fails with `too_busy`. A short
 * one is not counted. `perByte`: how many bytes each of them takes.
 */
export function holdDocument(context: Context, bytes: number, perByte: number): MaybePromise<void> {
  return bytes <= FREE_BYTES ? undefined : context.holdBytes(bytes * perByte);
}
