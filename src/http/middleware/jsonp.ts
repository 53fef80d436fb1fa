/** JSON as the argument of a function call (JSONP), if `httpd/allow_jsonp` permits it (docs/http/answers.md#jsonp). */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { whenReady } from '../../base/shared/maybe-promise.ts';
import type { ByteStream, ResponseBody } from '../../base/shared/message.ts';
import { booleanSetting } from '../../base/system/config.ts';
import { Query } from '../request/address.ts';
import { isStream } from '../request/bodies.ts';
import type { Answer, Context, Handler } from '../request/context.ts';
import { answerErrors } from '../response/error-table.ts';

const CALLBACK = /^[a-zA-Z0-9._[\]]+$/;

/** Wraps errors as well, since a script element shows nothing else. Fails if the callback could be more than a name. */
export function wrapJsonp(next: Handler): Handler {
  return (context) => {
    const callback = callbackOf(context);
    if (callback === undefined) return next(context);
    if (!CALLBACK.test(callback)) throw new DatabaseError('bad_request', 'invalid_callback');
    return whenReady(answerErrors(next)(context), (answer) => wrap(answer, callback));
  };
}

/** Whether the response will be a script, which pages of other sites may load. */
export function isJsonp(context: Context): boolean {
  return callbackOf(context) !== undefined;
}

function callbackOf({ request: { url }, services: { config } }: Context): string | undefined {
  if (!booleanSetting(config, 'httpd', 'allow_jsonp')) return undefined;
  const question = url.indexOf('?');
  return question < 0 ? undefined : new Query(url.slice(question + 1)).get('callback');
}

/** Leaves anything but JSON as it is: an attachment of any type has its own length. */
function wrap(answer: Answer, callback: string): Answer {
  const { headers, body, isJson = false } = answer;
  if (!isJson) return answer;
  headers['content-type'] = 'text/javascript';
  return body === null ? answer : { ...answer, body: wrapBody(body, `/* svc */${callback}(`) };
}

function wrapBody(body: NonNullable<ResponseBody>, head: string): ResponseBody {
  if (typeof body === 'string') return `${head}${body.trimEnd()});\n`;
  return isStream(body) ? wrapStream(body, head) : body;
}

function wrapStream(stream: ByteStream, head: string): ByteStream {
  const encoder = new TextEncoder();
  const ends = [encoder.encode(head), encoder.encode(');\n')];
  let ended = false;
  const pull = async (): Promise<Uint8Array | undefined> => {
    if (ends.length === 2) return ends.shift();
    const chunk = ended ? undefined : await stream.pull();
    ended ||= chunk === undefined;
    return chunk ?? ends.shift();
  };
  return { pull, cancel: (reason) => stream.cancel(reason) };
}
