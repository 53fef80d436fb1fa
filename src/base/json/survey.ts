/** How many values a text of JSON will become, found out before any of them is built: a value may take twenty times the bytes of its text. */
import type { CooperativeTask } from '../shared/turn.ts';
import { CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './characters.ts';
import { MAX_DEPTH, tooDeeplyNested } from './nesting.ts';
import { closingQuote } from './strings.ts';

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

/** A string has more characters than may be. It is compared, written and sent in one go. */
export class TooLongString extends Error {}

/** What may be in a text. */
export interface SurveyBounds {
  /** Members of one object. Default: any number. */
  readonly members?: number | undefined;
  /** Characters of a string, as it is written. Default: any number. */
  readonly stringLength?: number | undefined;
}

/** Characters that are looked at in one step, about. */
const STEP_LENGTH = 131_072;

/**
 * Counts what is in a text, of which it is not known whether it is JSON. Fails with `bad_request` where it is nested too deeply. Throws
 * `TooManyMembers` or `TooLongString` where it is beyond the bounds, also in the middle of it.
 */
export function* surveyInSteps(text: string, bounds: SurveyBounds = {}): CooperativeTask<Survey> {
  const { members: mostMembers = Number.POSITIVE_INFINITY, stringLength = Number.POSITIVE_INFINITY } = bounds;
  let [containers, members, further, depth] = [0, 0, 0, 0];
  /** Members of the containers around the position, by depth. */
  const open = new Uint32Array(MAX_DEPTH + 1);
  let rest = STEP_LENGTH;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = closingQuote(text, at);
      if (end - at > stringLength) throw new TooLongString();
      at = end;
    } else if (code === COMMA) further++;
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
