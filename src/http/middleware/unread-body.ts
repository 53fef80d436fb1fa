/** Cancels a request's body when the answer was made without having read it all, so that its sender stops. */
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
    // Cancelling does nothing to a body that was read to its end. A failure of it changes nothing for the answer.
    void body.cancel().catch(() => {});
  }
}
