/** Takes the white space out of a JSON text, without building its values. For text that `JSON.parse` accepts, as `json-cursor.ts`. */
import { atOnce, type CooperativeTask } from '../shared/turn.ts';
import { QUOTE, SPACE } from './characters.ts';
import { stringEnd } from './strings.ts';

/** Characters that are looked at in one step, about. */
const STEP_LENGTH = 65_536;

/** The text at [start, end) without white space outside of strings; the plain slice where there is none. */
export function minify(text: string, start = 0, end: number = text.length): string {
  return atOnce(minifyInSteps(text, start, end));
}

/** As `minify`: others may have a turn in the middle of a long text. */
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
