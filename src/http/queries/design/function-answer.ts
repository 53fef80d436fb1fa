/** Responses made by functions of design documents. */
import type { ResponseBody } from '../../../base/shared/message.ts';
import type { Config } from '../../../base/system/contract.ts';
import type { Answer, Context } from '../../request/context.ts';
import { withLocation } from '../../response/locations.ts';
import { MUST_REVALIDATE, withHeader } from '../../response/responses.ts';
import { sandboxed } from '../../response/sandboxing.ts';

/** A text media type without a charset is declared as UTF-8. */
export const HTML_TYPE = 'text/html; charset=utf-8';

interface Made {
  readonly code: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ResponseBody;
}

interface Defaults {
  readonly code: number;
  readonly type: string;
  /** Other headers, which the function may replace, all except `etag`: a tag of the function's own would not change as the response does. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The service does the framing: a function that got it wrong would break the connection. */
const OURS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Whether a response of that status has no body, even if a function returns one: the web's `Response` rejects a body then. */
export const hasNoBody = (status = 0): boolean => [204, 205, 304].includes(status);

export function functionAnswer(config: Config, { code, headers, body }: Made, defaults: Defaults): Answer {
  const status = code ?? defaults.code;
  const given = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  const answer: Answer = {
    status,
    headers: { 'content-type': defaults.type, 'cache-control': MUST_REVALIDATE, ...defaults.headers },
    body: hasNoBody(status) ? null : body,
  };
  const hasTag = defaults.headers?.['etag'] !== undefined;
  for (const [name, value] of given) {
    if (OURS.has(name) || (hasTag && name === 'etag')) continue;
    if (name === 'location') withLocation(answer, value);
    else withHeader(answer, name, value);
  }
  const isJson =
    !(body instanceof Uint8Array) && answer.headers['content-type']?.startsWith('application/json') === true;
  return sandboxed({ ...answer, isJson }, config, 'showlist');
}

/** Returns what a response depends on besides documents. */
export function requesterOf(context: Context, { security }: { readonly security: string }): readonly string[] {
  const { name, roles } = context.user;
  return [context.header('accept') ?? '', security, name ?? '', ...roles];
}
