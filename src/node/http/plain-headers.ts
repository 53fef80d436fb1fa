import { assert } from '../../base/shared/assert.ts';
import type { PlainHeaders } from '../../base/shared/message.ts';

type IncomingHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Node has already lower-cased names and joined repeated lines, except for `Set-Cookie`, which no request should have. */
export function toPlainHeaders(headers: IncomingHeaders): PlainHeaders {
  if (isPlain(headers)) return headers;
  const { 'set-cookie': _, ...others } = headers;
  assert(isPlain(others), 'only Set-Cookie has several lines');
  return others;
}

function isPlain(headers: IncomingHeaders): headers is PlainHeaders {
  return headers['set-cookie'] === undefined;
}
