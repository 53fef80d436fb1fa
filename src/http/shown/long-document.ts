/** Long documents that are read as a whole count like long request bodies. */
import { FREE_BYTES } from '../../base/shared/byte-budget.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { Context } from '../request/context.ts';

/** For each byte of a document that is read to be written elsewhere. */
export const COPIED = 4;
/** For each byte of one that a function sees: its text, copies on their way to a sandbox, and its form there besides the sandbox's own memory. */
export const CALLED_WITH = 12;

/**
 * Counts a document of that many bytes until the request is answered, after waiting for others if the service is busy. Fails with `too_busy`. A short
 * one is not counted. `perByte`: how much memory each byte takes.
 */
export function holdDocument(context: Context, bytes: number, perByte: number): MaybePromise<void> {
  return bytes <= FREE_BYTES ? undefined : context.holdBytes(bytes * perByte);
}
