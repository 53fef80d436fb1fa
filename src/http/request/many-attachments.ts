/** How much memory many attachments of one request take, and how many there can be (docs/http/attachments.md#attachments-in-documents). */

import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { MOST_ATTACHMENTS, tooManyAttachments } from '../../database/documents/incoming/incoming-attachment.ts';
import type { Context } from './context.ts';

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
  if (after > MOST_ATTACHMENTS) throw tooManyAttachments();
  const counted = Math.max(FREE, after) - Math.max(FREE, before);
  if (counted > 0) return context.holdBytes(counted * MEMORY_OF_EACH);
}
