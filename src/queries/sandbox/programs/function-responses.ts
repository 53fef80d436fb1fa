/** Reads the responses of shows, lists and updates from the text that the sandboxes' program returns. */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { FunctionResponse, ListResult } from '../contract.ts';

export type ListHead = Pick<ListResult, 'code' | 'headers'>;

/** Characters of headers, far more than clients take. */
const LONGEST_HEADERS = 65_536;

type Members = Readonly<Record<string, unknown>>;

export function toResponse(text: string): FunctionResponse {
  const members = toMembers(JSON.parse(text));
  const { json, base64, body } = members;
  const headers = toHeaders(members['headers']);
  const code = toCode(members['code']);
  if (typeof base64 === 'string')
    return { code, headers: withType(headers, 'application/binary'), body: toBytes(base64) };
  if (json !== undefined && body === undefined) {
    return { code, headers: withType(headers, 'application/json'), body: JSON.stringify(json) };
  }
  return { code, headers, body: typeof body === 'string' ? body : '' };
}

export function toListHead(text: string): ListHead {
  const members = toMembers(JSON.parse(text));
  return { code: toCode(members['code']), headers: toHeaders(members['headers']) };
}

function toMembers(value: unknown): Members {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}

function toCode(code: unknown): number | undefined {
  if (code === undefined || code === null) return undefined;
  const value = Number(code);
  if (Number.isInteger(value) && value >= 200 && value <= 599) return value;
  throw new DatabaseError(
    'render_error',
    `The function's status code ${String(code).slice(0, 50)} is not between 200 and 599.`,
  );
}

function toHeaders(headers: unknown): Record<string, string> {
  const entries = Object.entries(toMembers(headers)).filter(([, value]) => value !== undefined && value !== null);
  if (entries.reduce((length, [name, value]) => length + name.length + String(value).length, 0) > LONGEST_HEADERS) {
    const reason = `The function's headers have more than ${LONGEST_HEADERS} characters. Send what is more in the body.`;
    throw new DatabaseError('render_error', reason);
  }
  for (const [name, value] of entries) {
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(String(value))) {
      throw new DatabaseError(
        'render_error',
        `The function's header ${JSON.stringify(name)} can't be sent: it has characters that headers must not have.`,
      );
    }
  }
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

function withType(headers: Record<string, string>, type: string): Record<string, string> {
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  return hasType ? headers : { ...headers, 'Content-Type': type };
}

function toBytes(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch (cause) {
    throw new DatabaseError('render_error', "The function's `base64` is not base64.", { cause });
  }
}
