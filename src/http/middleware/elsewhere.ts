/** What services have in common that don't own all databases. */
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { ByteStream, PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import { isStream } from '../request/bodies.ts';

/** Failures after which the owner answers instead: only it can do this, or a page that was read was replaced meanwhile. */
const MAY_BE_ANSWERED_ELSEWHERE: ReadonlySet<string> = new Set(['not_owner', 'storage_fenced', 'storage_closed']);

/** Whether the owner may answer in place of this response. */
export function isAnsweredElsewhere({ errorCode }: Pick<PlainResponse, 'errorCode'>): boolean {
  return errorCode !== undefined && MAY_BE_ANSWERED_ELSEWHERE.has(errorCode);
}

/** A host's request may be an instance of a class, whose signal is not copied with its other members. */
export function withBody(request: PlainRequest, body: ByteStream): PlainRequest {
  const { signal } = request;
  return { ...request, ...(signal !== undefined && { signal }), body };
}

/** Ends a response that is not sent. */
export function cancelBody({ body, held }: PlainResponse): MaybePromise<void> {
  held?.release();
  return isStream(body) ? body.cancel() : undefined;
}
