/** The strings of a JSON text that `JSON.parse` accepts; on any other text the results mean nothing, or a `SyntaxError` is thrown. */
import { BACKSLASH } from './characters.ts';

/** Engines compare these many times as fast as single characters. An even number of backslashes. */
const MANY_BACKSLASHES = '\\'.repeat(16_384);

/** Returns the position after the string whose opening quote is at `start`. */
export function stringEnd(text: string, start: number): number {
  const close = closingQuote(text, start);
  if (close === text.length) endedEarly();
  return close + 1;
}

/** Returns the position of the quote that ends the string whose opening quote is at `start`; past the text if none does. Takes any text. */
export function closingQuote(text: string, start: number): number {
  let close = text.indexOf('"', start + 1);
  while (text.charCodeAt(close - 1) === BACKSLASH && isEscaped(text, close)) close = text.indexOf('"', close + 1);
  return close < 0 ? text.length : close;
}

/** Returns the value of the string whose text, with its quotes, is at [start, end). */
export function stringValue(text: string, start = 0, end: number = text.length): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes('\\') ? String(JSON.parse(text.slice(start, end))) : raw;
}

export function endedEarly(): never {
  throw new SyntaxError('The text of a JSON value ends before the value does.');
}

/** Returns whether an odd number of backslashes precedes `at`. The string's opening quote bounds their run. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.endsWith(MANY_BACKSLASHES, first)) first -= MANY_BACKSLASHES.length;
  while (text.charCodeAt(first - 1) === BACKSLASH) first--;
  return (at - first) % 2 === 1;
}
