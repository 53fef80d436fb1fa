/** Cancels a request body if the response was made without reading all of it, so that its sender stops. */
import type { ByteStream } from '../../base/shared/message.ts';
import { isStream } from '../request/bodies.ts';
import type { Answer, Context, Handler } from '../request/context.ts';

export function cancelUnreadBody(next: Handler): Handler {
  return (context) => {
    const { body } = context.request;
    return isStream(body) ? answerThenCancel(next, context, body) : next(context);
  };
}

async function answerThenCancel(next: Handler, context: Context, body: ByteStream): Promise<Answer> {
  try {
    return await next(context);
  } finally {
    // Cancelling has no effect on a body that was read to its end. If it fails, the response stays the same.
    void body.cancel().catch(() => {});
  }
}
