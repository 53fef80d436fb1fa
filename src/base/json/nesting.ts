/** Bounds on how deep values may be nested, which are read, compared and written out by recursion. */
import { DatabaseError } from '../errors/database-error.ts';
import { atOnce, type CooperativeTask } from '../shared/turn.ts';
import { CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './characters.ts';
import { closingQuote } from './strings.ts';

/** Arrays and objects around each other. Far beyond what anyone means, far below what a stack holds. */
export const MAX_DEPTH = 1_000;
/** Characters that are looked at in one step, about. */
const STEP_LENGTH = 131_072;

/** Whether a JSON value, and all in it, is nested no deeper than that. */
export function isShallow(value: unknown, depthLeft = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depthLeft === 0) return false;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return members.every((member) => isShallow(member, depthLeft - 1));
}

/** As `isShallow`, for a text of which it is not known whether it is JSON. Builds nothing, and stops where the text is too deep. */
export function isShallowText(text: string): boolean {
  return !hasManyOpenings(text) || atOnce(walkShallow(text, 0, false));
}

/** As `isShallowText`, for the container that begins at `start`, without what follows it. */
export function isShallowContainer(text: string, start: number): CooperativeTask<boolean> {
  return walkShallow(text, start, true);
}

/** Fails with `bad_request` where the text is nested too deeply; what else it is does not matter. */
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

/** Whether the text has so many brackets and braces that it could be too deep. Engines find a character faster than any walk does. */
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
