/** Bounds on how deep values may be nested: recursion reads, compares and writes them. */
import { DatabaseError } from '../errors/database-error.ts';
import { atOnce, type CooperativeTask } from '../shared/turn.ts';
import { CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './characters.ts';
import { closingQuote } from './strings.ts';

/** Levels of arrays and objects. Far more than any real value needs, far fewer than a stack holds. */
export const MAX_DEPTH = 1_000;
/** Approximate number of characters checked in one step. */
const STEP_LENGTH = 131_072;

/** Returns whether a JSON value, and all in it, is nested no deeper than `MAX_DEPTH`. */
export function isShallow(value: unknown, depthLeft = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depthLeft === 0) return false;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return members.every((member) => isShallow(member, depthLeft - 1));
}

/** Like `isShallow`, for a text that might not be JSON. Builds nothing, and stops when the text is too deep. */
export function isShallowText(text: string): boolean {
  return !hasManyOpenings(text) || atOnce(walkShallow(text, 0, false));
}

/** Like `isShallowText`, for the container that begins at `start`, ignoring what follows it. */
export function isShallowContainer(text: string, start: number): CooperativeTask<boolean> {
  return walkShallow(text, start, true);
}

/** Fails with `bad_request` if the text is nested too deeply; checks nothing else. */
export function* assertShallowInSteps(text: string): CooperativeTask<void> {
  if (hasManyOpenings(text) && !(yield* walkShallow(text, 0, false))) throw tooDeeplyNested();
}

export function assertShallowText(text: string): void {
  if (!isShallowText(text)) throw tooDeeplyNested();
}

export function tooDeeplyNested(): DatabaseError {
  const reason = `The JSON has arrays and objects in more than ${MAX_DEPTH} levels; send what is nested deeper as a string.`;
  return new DatabaseError('bad_request', reason);
}

function* walkShallow(text: string, start: number, isOneContainer: boolean): CooperativeTask<boolean> {
  let depth = 0;
  let rest = start + STEP_LENGTH;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = closingQuote(text, at);
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth++;
      if (depth > MAX_DEPTH) return false;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth--;
      if (isOneContainer && depth === 0) return true;
    }
    if (at < rest) continue;
    rest = at + STEP_LENGTH;
    yield;
  }
  return true;
}

/** Returns whether the text has so many brackets and braces that it could be too deep. Engines find a character faster than any walk does. */
function hasManyOpenings(text: string): boolean {
  if (text.length <= MAX_DEPTH) return false;
  let count = 0;
  for (const opening of ['[', '{']) {
    for (let at = text.indexOf(opening); at >= 0; at = text.indexOf(opening, at + 1)) {
      count++;
      if (count > MAX_DEPTH) return true;
    }
  }
  return false;
}
