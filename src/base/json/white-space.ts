/** Removes white space from a JSON text, or shortens it, without building the text's values. */
import { atOnce, type CooperativeTask } from '../shared/turn.ts';
import { isSpace, QUOTE, SPACE } from './characters.ts';
import { closingQuote, stringEnd } from './strings.ts';

/** Approximate number of characters checked in one step. */
const STEP_LENGTH = 65_536;

/**
 * Returns the text at [start, end) without white space outside strings; the plain slice if there is none. For text that `JSON.parse`
 * accepts, like `json-cursor.ts`.
 */
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

/** A run of twice this length contains two neighbouring multiples of this length. */
const SAMPLE_DISTANCE = 32_768;
/** Minimum length of the runs that are shortened. */
const LONG_RUN = 1_024;
/**
 * Returns the text, which might not be JSON, with each long run outside strings cut to one character if any run is very long: readers would
 * process each run in one step.
 */
export function* shortenSpaceInSteps(text: string): CooperativeTask<string> {
  if (!(yield* hasVeryLongRun(text))) return text;
  let result = '';
  let kept = 0;
  let rest = STEP_LENGTH;
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) === QUOTE) at = closingQuote(text, at);
    else if (isSpace(text.charCodeAt(at))) {
      const start = at;
      while (isSpace(text.charCodeAt(at + 1))) {
        at++;
        if (at < rest) continue;
        rest = at + STEP_LENGTH;
        yield;
      }
      if (at - start >= LONG_RUN) {
        result += text.slice(kept, start + 1);
        kept = at + 1;
      }
    }
    if (at < rest) continue;
    rest = at + STEP_LENGTH;
    yield;
  }
  return result + text.slice(kept);
}

function* hasVeryLongRun(text: string): CooperativeTask<boolean> {
  for (let from = 0; from + SAMPLE_DISTANCE < text.length; from += SAMPLE_DISTANCE) {
    const isSampled = isSpace(text.charCodeAt(from)) && isSpace(text.charCodeAt(from + SAMPLE_DISTANCE));
    if (!isSampled) continue;
    if (/^[ \t\n\r]*$/.test(text.slice(from, from + SAMPLE_DISTANCE))) return true;
    yield;
  }
  return false;
}
