/** What services have in common that don't own all databases. */
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { PlainResponse } from '../../base/shared/message.ts';
import { isStream } from '../request/bodies.ts';

/** Failures after which the owner answers instead: only it can do this, or a page that was read was replaced meanwhile. */
export const MAY_BE_ANSWERED_ELSEWHERE: ReadonlySet<string> = new Set([
  'not_owner',
  'storage_fenced',
  'storage_closed',
]);

/** Ends a response that is not sent. */
export function cancelBody({ body, held }: PlainResponse): MaybePromise<void> {
  held?.release();
  return isStream(body) ? body.cancel() : undefined;
}
