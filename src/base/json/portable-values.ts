/**
 * Which JSON values every reader of JSON can take: text may have escapes of half a surrogate pair, which can't be written as UTF-8,
 * and numbers that exceed every double, both of which most readers refuse (docs/http/documents.md#document-text).
 */
import { DatabaseError } from '../errors/database-error.ts';
import { atOnce, type CooperativeTask } from '../shared/turn.ts';
import { isDigit, LOWER_CASE, LOWER_E, MINUS, PLUS, POINT, QUOTE } from './characters.ts';
import { stringEnd } from './strings.ts';

const FIRST_SURROGATE = 0xd800;

/** An escaped surrogate, an exponent of three digits, or many digits in a row: without these, a text is portable. */
const SUSPECT = /\\u[dD][89a-fA-F]|[eE]\+?\d{3}|(?:^|\D)\d{200}/;

/** Returns whether a JSON text may contain something that is not portable; `checkPortable` decides from its value. */
export function mayBeUnportable(text: string): boolean {
  return SUSPECT.test(text);
}

/** Fails with `bad_request` if something within the value is not portable. Iterative: depth costs nothing. */
export function checkPortable(root: unknown): void {
  atOnce(checkValueInSteps(root));
}

/** Like `checkPortable`: other work may run in between. */
export function* checkValueInSteps(root: unknown): CooperativeTask<void> {
  const left: unknown[] = [root];
  for (let looked = 1; left.length > 0; looked++) {
    const value = left.pop();
    const reason = unportableReason(value);
    if (reason !== undefined) throw new DatabaseError('bad_request', reason);
    if (looked % VALUES_PER_STEP === 0) yield;
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) for (const item of value) left.push(item);
    else for (const [name, member] of Object.entries(value)) left.push(name, member);
  }
}

const VALUES_PER_STEP = 1_024;

/** The maximum number of characters that `SUSPECT` matches. */
const MAX_SUSPECT_LENGTH = 256;
/** Approximate number of characters checked between two looks at the clock. */
const STEP_LENGTH = 65_536;

/** Like `mayBeUnportable`, for a long text: other work may run in between. */
export function* mayBeUnportableInSteps(text: string): CooperativeTask<boolean> {
  for (let from = 0; from < text.length; from += STEP_LENGTH) {
    if (SUSPECT.test(text.slice(from, from + STEP_LENGTH + MAX_SUSPECT_LENGTH))) return true;
    yield;
  }
  return false;
}

/** Like `checkPortable`, for the text of a JSON value. Builds only values that might not be portable. */
export function* checkPortableInSteps(text: string): CooperativeTask<void> {
  let rest = STEP_LENGTH;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    let end = at;
    if (code === QUOTE) end = stringEnd(text, at);
    else if (code === MINUS || isDigit(code)) while (isOfNumber(text.charCodeAt(end))) end++;
    if (end === at) continue;
    const scalar = text.slice(at, end);
    const reason = mayBeUnportable(scalar) ? unportableReason(JSON.parse(scalar)) : undefined;
    if (reason !== undefined) throw new DatabaseError('bad_request', reason);
    at = end - 1;
    if (at < rest) continue;
    rest = at + STEP_LENGTH;
    yield;
  }
}

function isOfNumber(code: number): boolean {
  return isDigit(code) || code === MINUS || code === PLUS || code === POINT || (code | LOWER_CASE) === LOWER_E;
}

/** Returns whether the text can't be written as UTF-8. */
export function hasLoneSurrogate(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    // The expression, which finds lone surrogates, is worth its cost only if the text has any surrogates.
    if (text.charCodeAt(at) >= FIRST_SURROGATE) return /\p{Surrogate}/u.test(text);
  }
  return false;
}

/** Replaces halves of surrogate pairs, which can't be written as UTF-8, by U+FFFD, as `fetch` does. */
export function toWellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}

function unportableReason(value: unknown): string | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return 'A number is larger than any double, such as 1e400. Send a smaller one, or a string.';
  }
  if (typeof value === 'string' && hasLoneSurrogate(value)) {
    return 'A string has a lone surrogate, such as "\\ud800", which is no character. Send whole characters.';
  }
  return undefined;
}
