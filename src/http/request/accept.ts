/**
 * Which of the available types a client wants: ordinary matching of `Accept` with its q values (RFC 9110, 12.5.1).
 *
 * JSON is sent as `application/json` to clients that name it, and as plain text to all others, so that a browser shows it
 * (docs/http/answers.md#content-negotiation): plain text is preferred, and naming a type weighs more than a wildcard.
 */
import Negotiator from 'negotiator';

const JSON_TYPE = 'application/json';
const TEXT_TYPE = 'text/plain; charset=utf-8';

/** A client may name the charset of either; it is always UTF-8. */
const JSON_SENT_AS = ['text/plain', 'text/plain;charset=utf-8', JSON_TYPE, 'application/json;charset=utf-8'];

/** Returns the `Content-Type` for JSON text. The headers of nearly all clients need no parser, which takes as long as a small read. */
export function jsonType(accept: string | undefined): string {
  if (accept === undefined || accept === '*/*') return TEXT_TYPE;
  if (accept === JSON_TYPE) return JSON_TYPE;
  return preferred(accept, JSON_SENT_AS)?.startsWith(JSON_TYPE) === true ? JSON_TYPE : TEXT_TYPE;
}

/** Whether the type is acceptable at all. Without an `Accept` header, every type is (docs/http/documents.md#multipart-answers). */
export function accepts(accept: string | undefined, type: string): boolean {
  return accept === undefined || preferred(accept, [type]) !== undefined;
}

/** Whether a client accepts that content coding: it has to name the coding (RFC 9110, 12.5.3), or `*`. */
export function acceptsCoding(acceptEncoding: string | undefined, coding: string): boolean {
  if (acceptEncoding === undefined) return false;
  return new Negotiator({ headers: { 'accept-encoding': acceptEncoding } }).encodings([coding]).includes(coding);
}

/** Returns those content codings that a client prefers to none: by its own preference if it has q values, or else in the given order. */
export function acceptedCodings<T extends string>(acceptEncoding: string, available: readonly T[]): readonly T[] {
  const wanted = new Negotiator({ headers: { 'accept-encoding': acceptEncoding } }).encodings([
    ...available,
    'identity',
  ]);
  const plain = wanted.indexOf('identity');
  const before: readonly string[] = plain < 0 ? wanted : wanted.slice(0, plain);
  const accepted = available.filter((one) => before.includes(one));
  if (!acceptEncoding.includes(';')) return accepted;
  return accepted.sort((one, other) => before.indexOf(one) - before.indexOf(other));
}

function preferred(accept: string, available: readonly string[]): string | undefined {
  return new Negotiator({ headers: { accept } }).mediaType(available);
}
