/** Takes the white space out of a JSON text, without building its values. For text that `JSON.parse` accepts, as `json-cursor.ts`. */
import { QUOTE, SPACE } from './characters.ts';
import { stringEnd } from './strings.ts';

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
