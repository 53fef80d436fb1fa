/**
 * Which of the types that we have a client wants: ordinary matching of `Accept` with its q values (RFC 9110, 12.5.1).
 *
 * JSON is sent as `application/json` to those who name it, and as plain text to all others, so that a browser shows it
 * (interface.md 1.2; completion 1.6): plain text is what we prefer, and naming a type weighs more than a wildcard. Of most headers
 * `middleware/json-type.ts` knows that without weighing.
 */
import Negotiator from 'negotiator';
import { JSON_TYPE, TEXT_TYPE } from '../middleware/json-type.ts';

/** A client may name the charset of either; it is always UTF-8. */
const JSON_SENT_AS = ['text/plain', 'text/plain;charset=utf-8', JSON_TYPE, 'application/json;charset=utf-8'];

/** The `Content-Type` for JSON text. */
export function jsonType(accept: string): string {
  return preferred(accept, JSON_SENT_AS)?.startsWith(JSON_TYPE) === true ? JSON_TYPE : TEXT_TYPE;
}

/** Whether the type is acceptable at all. Without an `Accept` everything is (completion 1.7). */
export function accepts(accept: string | undefined, type: string): boolean {
  return accept === undefined || preferred(accept, [type]) !== undefined;
}

function preferred(accept: string, available: readonly string[]): string | undefined {
  return new Negotiator({ headers: { accept } }).mediaType(available);
}
