/** Removes white space from a JSON text without building its values. For text that `JSON.parse` accepts, like `json-cursor.ts`. */
import { atOnce, type CooperativeTask } from '../shared/turn.ts';
import { QUOTE, SPACE } from './characters.ts';
import { stringEnd } from './strings.ts';

/** Approximate number of characters checked in one step. */
const STEP_LENGTH = 65_536;

/** Returns the text at [start, end) without white space outside strings; the plain slice if there is none. */
export function minify(text: string, start = 0, end: number = text.length): string {
  return atOnce(minifyInSteps(text, start, end));
}

/** Like `minify`: other work may run in the middle of a long text. */
export function* minifyInSteps(text: string, start = 0, end: number = text.length): CooperativeTask<string> {
  let result = '';
  let kept = start;
  let at = start;
  let rest = start + STEP_LENGTH;
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
    if (at < rest) continue;
    rest = at + STEP_LENGTH;
    yield;
  }
  return kept === start ? text.slice(start, end) : result + text.slice(kept, end);
}
