/** How many values a text of JSON will become, found out before any of them is built: a value may take twenty times the bytes of its text. */
import type { Steps } from '../shared/turn.ts';
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './characters.ts';
import { MAX_DEPTH, tooDeeplyNested } from './nesting.ts';

export interface Survey {
  /** Arrays and objects. */
  readonly containers: number;
  /** Members of objects. */
  readonly members: number;
  /** Values that follow another one in their container. */
  readonly further: number;
}

/** One object has more members than may be. Engines take long to build and to list objects with hundreds of thousands. */
export class TooManyMembers extends Error {}

/** Characters that are looked at in one step, about. */
const STEP_LENGTH = 131_072;

/**
 * Counts what is in a text, of which it is not known whether it is JSON. Fails with `bad_request` where it is nested too deeply. Throws
 * `TooManyMembers` where one object has more than `mostMembers`, also in the middle of it.
 */
export function* surveyInSteps(text: string, mostMembers = Number.POSITIVE_INFINITY): Steps<Survey> {
  let [containers, members, further, depth] = [0, 0, 0, 0];
  /** Members of the containers around the position, by depth. */
  const open = new Uint32Array(MAX_DEPTH + 1);
  let rest = STEP_LENGTH;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = closingQuote(text, at);
    else if (code === COMMA) further++;
    else if (code === COLON) {
      members++;
      const count = (open[depth] ?? 0) + 1;
      if (count > mostMembers) throw new TooManyMembers();
      open[depth] = count;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      containers++;
      depth++;
      if (depth > MAX_DEPTH) throw tooDeeplyNested();
      open[depth] = 0;
    } else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && depth > 0) depth--;
    if (at < rest) continue;
    rest = at + STEP_LENGTH;
    yield;
  }
  return { containers, members, further };
}

/** Of the string that begins at `start`; behind the text where it has none. */
function closingQuote(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let before = at;
    while (text.charCodeAt(before - 1) === BACKSLASH) before--;
    if ((at - before) % 2 === 0) return at;
  }
  return text.length;
}
