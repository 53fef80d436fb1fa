/**
 * As what JSON is sent: as `application/json` to those who name it, and as plain text to all others, so that a browser shows it
 * (interface.md 1.2; completion 1.6).
 */

import { orElse, whenReady } from '../../shared/maybe-promise.ts';
import type { Handler } from '../routing/handler.ts';
import { useLent } from '../routing/resources.ts';

export const JSON_TYPE = 'application/json';
export const TEXT_TYPE = 'text/plain; charset=utf-8';

const TEXTUAL = /^text\/(plain|\*)/;
/** Ranges that can have JSON preferred: they name it or its kind, or put plain text behind. */
const TELLING = /json|^application\/\*|^text\/.*;|^\*\/[^*].*;/;

/** What nearly all `Accept` headers come to; undefined for those that have to be weighed (`negotiation.ts`), with the same result. */
export function plainJsonType(accept: string | undefined): string | undefined {
  if (accept === undefined || accept === '*/*') return TEXT_TYPE;
  if (accept === JSON_TYPE) return JSON_TYPE;
  if (accept.includes('"')) return undefined;
  const ranges = accept.split(',').map((range) => range.trim().toLowerCase());
  const [json, text] = [ranges.lastIndexOf(JSON_TYPE), ranges.lastIndexOf('text/plain')];
  if (json >= 0) {
    if (!accept.includes(';')) return text > json || text < 0 ? JSON_TYPE : TEXT_TYPE;
    return ranges.some((range) => TEXTUAL.test(range)) ? undefined : JSON_TYPE;
  }
  return ranges.some((range) => TELLING.test(range)) ? undefined : TEXT_TYPE;
}

/** Has the type weighed before the request is answered, where that is needed. Where it can't be, plain text will do. */
export function weighTypes(next: Handler): Handler {
  return (context) => {
    const accept = context.header('accept');
    context.jsonType = plainJsonType(accept);
    if (accept === undefined || context.jsonType !== undefined) return next(context);
    const weighed = orElse(
      () => useLent(context, ({ jsonType }) => jsonType(accept)),
      () => TEXT_TYPE,
    );
    return whenReady(weighed, (type) => {
      context.jsonType = type;
      return next(context);
    });
  };
}
