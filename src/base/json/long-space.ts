/** Shortens long runs of white space in JSON text: readers would process each run in one step. */
import type { CooperativeTask } from '../shared/turn.ts';
import { QUOTE } from './characters.ts';
import { closingQuote } from './strings.ts';

/** A run of twice this length contains two neighbouring multiples of this length. */
const SAMPLE_DISTANCE = 32_768;
/** Minimum length of the runs that are shortened. */
const LONG_RUN = 1_024;
/** Approximate number of characters checked in one step. */
const STEP_LENGTH = 131_072;

/** Returns the text, which might not be JSON, with each long run outside strings cut to one character if any run is very long. */
export function* shortenSpaceInSteps(text: string): CooperativeTask<string> {
  if (!(yield* hasVeryLongRun(text))) return text;
  let result = '';
  let kept = 0;
  let rest = STEP_LENGTH;
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) === QUOTE) at = closingQuote(text, at);
    else if (isSpace(text, at)) {
      const start = at;
      while (isSpace(text, at + 1)) {
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
    const isSampled = isSpace(text, from) && isSpace(text, from + SAMPLE_DISTANCE);
    if (!isSampled) continue;
    if (/^[ \t\n\r]*$/.test(text.slice(from, from + SAMPLE_DISTANCE))) return true;
    yield;
  }
  return false;
}

/** Returns whether this is white space in JSON (RFC 8259, section 2). */
function isSpace(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
