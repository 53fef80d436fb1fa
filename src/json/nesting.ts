/** Bounds on how deep values may be nested, which are read, compared and written out by recursion. */
import { atOnce, type Steps } from '../shared/turn.ts';
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './characters.ts';

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
  return atOnce(isShallowTextInSteps(text));
}

export function* isShallowTextInSteps(text: string): Steps<boolean> {
  if (text.length <= MAX_DEPTH) return true;
  let depth = 0;
  let rest = STEP_LENGTH;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = closingQuote(text, at);
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth++;
      if (depth > MAX_DEPTH) return false;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    if (at < rest) continue;
    rest = at + STEP_LENGTH;
    yield;
  }
  return true;
}

/** Of the string that begins at `start`; behind the text where it has none. */
function closingQuote(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  return text.length;
}
