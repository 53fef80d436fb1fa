/** Takes the white space out of a JSON text, without building its values. For text that `JSON.parse` accepts, as `json-text.ts`. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

/** The text at [start, end) without white space outside of strings; the plain slice where there is none. */
export function minify(text: string, start = 0, end: number = text.length): string {
  let result = '';
  let kept = start;
  let at = start;
  while (at < end) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = stringEnd(text, at);
    } else if (code <= SPACE) {
      result += text.slice(kept, at);
      do at++;
      while (at < end && text.charCodeAt(at) <= SPACE);
      kept = at;
    } else {
      at++;
    }
  }
  return kept === start ? text.slice(start, end) : result + text.slice(kept, end);
}

/** Position behind the string whose opening quote is at `start`. */
export function stringEnd(text: string, start: number): number {
  let close = text.indexOf('"', start + 1);
  while (text.charCodeAt(close - 1) === BACKSLASH && isEscaped(text, close)) close = text.indexOf('"', close + 1);
  if (close < 0) endedEarly();
  return close + 1;
}

export function endedEarly(): never {
  throw new SyntaxError('The text of a JSON value ends before the value does.');
}

/** Whether an odd number of backslashes is before `at`. The string's opening quote bounds the run of them. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first--;
  return (at - first) % 2 === 1;
}
