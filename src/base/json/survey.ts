/** Counts the values that a JSON text will become, before any is built: a value may take twenty times the bytes of its text. */
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

/** One object has too many members. Engines are slow to build and list objects with hundreds of thousands. */
export class TooManyMembers extends Error {}

/** A string has too many characters. It is compared, written and sent in one step. */
export class TooLongString extends Error {}

/** Limits on what a text may contain. */
export interface SurveyBounds {
  /** Maximum members of one object. Default: any number. */
  readonly members?: number | undefined;
  /** Maximum characters of a string, as written. Default: any number. */
  readonly stringLength?: number | undefined;
}

/** Approximate number of characters checked in one step. */
const STEP_LENGTH = 131_072;

/**
 * Counts what is in a text that might not be JSON. Fails with `bad_request` if it is nested too deeply. Throws
 * `TooManyMembers` or `TooLongString` if it exceeds the bounds, even before its end.
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
