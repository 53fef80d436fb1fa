/**
 * `JSON.parse` in steps, so that other work may run in the middle of a large text. Items that lie next to each other in a container are
 * parsed together, and only what is too long for one step is taken apart: `JSON.parse` decides what is JSON.
 */
import { DatabaseError } from '../errors/database-error.ts';
import type { MaybePromise } from '../shared/maybe-promise.ts';
import { type CooperativeTask, runCooperatively } from '../shared/turn.ts';
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  endsScalar,
  isDigit,
  isSpace,
  LOWER_U,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './characters.ts';
import { isObject, type JsonObject } from './objects.ts';
import { PartedMap } from './parted-map.ts';
import { stringEnd } from './strings.ts';
import { shortenSpaceInSteps } from './white-space.ts';

/** Approximate number of characters parsed in one step. */
const STEP_LENGTH = 65_536;
/** Maximum number of values in long wanted members: revisions of a history, attachments. */
const MAX_WANTED = 500_000;
/** Maximum members of one object in them: twice as many as a document has attachments. Engines build larger objects slowly. */
const MAX_MEMBERS = 100_000;
/** Maximum characters of a number: engines read it in one step. */
const MAX_NUMBER_LENGTH = 1_048_576;
/** Maximum characters of a member's name with its quotes and escapes: it is built and compared in one step. */
export const MAX_NAME_LENGTH = 1_048_576;
/** Returned in place of an end that is further away than one step. */
const FAR = -1;
/** Number of characters in an escape: `\u` with its four digits, and all others. */
const UNICODE_ESCAPE = 6;
const SHORT_ESCAPE = 2;

/** Returns the text's value: immediately if it is short. Fails with `SyntaxError` if `JSON.parse` does. */
export function parseInTurns(text: string): MaybePromise<unknown> {
  return text.length <= STEP_LENGTH ? JSON.parse(text) : runCooperatively(parseInSteps(text));
}

/** Returns the text's value. Throws `SyntaxError` if `JSON.parse` does; fails with `bad_request` if a number is very long. */
export function* parseInSteps(text: string): CooperativeTask<unknown> {
  if (text.length <= STEP_LENGTH) return JSON.parse(text);
  const short = yield* shortenSpaceInSteps(text);
  const parser = new LongTextParser(short);
  const value = yield* parser.value(parser.skipSpace(0));
  if (parser.skipSpace(parser.end) < short.length) throw unexpected(short, parser.end);
  return value;
}

type Member = readonly [name: string, value: unknown];

/**
 * Returns the members of the text's object, in the order of their first mention, each with its last value; undefined if the text is
 * another value. Throws `SyntaxError` like `parseInSteps`. Engines are slow to build and list objects with a million members.
 */
export function* parseMembersInSteps(text: string): CooperativeTask<readonly Member[] | undefined> {
  if (text.length <= STEP_LENGTH) {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? Object.entries(value) : undefined;
  }
  const members: Member[] = [];
  const places = new PartedMap<number>();
  const take = (name: string, value: unknown) => {
    const place = places.get(name) ?? members.length;
    if (place === members.length) places.set(name, place);
    members[place] = [name, value];
  };
  return (yield* takeMembers(text, take)) ? members : undefined;
}

/** Some members of an object, and how many it has. */
export interface SomeMembers {
  readonly distinct: number;
  readonly wanted: JsonObject;
}

/**
 * Like `parseMembersInSteps`, but only for the wanted members. Keeps nothing of the others: checks only whether they are JSON. Fails
 * with `too_large` if the wanted ones have very many values.
 */
export function* parseWantedInSteps(
  text: string,
  isWanted: (name: string) => boolean,
): CooperativeTask<SomeMembers | undefined> {
  const names = new PartedMap<true>();
  const wanted: Record<string, unknown> = {};
  const take = (name: string, value: unknown) => {
    names.set(name, true);
    if (isWanted(name)) setMember(wanted, name, value);
  };
  return (yield* takeMembers(text, take, isWanted)) ? { distinct: names.size, wanted } : undefined;
}

/** Returns false if the text is not an object. */
function* takeMembers(whole: string, take: TakeMember, isWanted?: IsWanted): CooperativeTask<boolean> {
  const text = yield* shortenSpaceInSteps(whole);
  const parser = new LongTextParser(text, isWanted === undefined ? undefined : MAX_WANTED);
  const start = parser.skipSpace(0);
  const isObjectText = text.charCodeAt(start) === OPEN_BRACE;
  if (isObjectText) yield* parser.members(start, take, isWanted);
  else yield* parser.value(start);
  if (parser.skipSpace(parser.end) < text.length) throw unexpected(text, parser.end);
  return isObjectText;
}

type TakeMember = (name: string, value: unknown) => void;
type IsWanted = (name: string) => boolean;

class LongTextParser {
  /** The position after the value that was parsed last. */
  end = 0;
  readonly #text: string;
  /** Whether the values are only checked and not kept. */
  #isChecking = false;
  /** How many more values arrays and objects may take. */
  #left: number;
  readonly #mostMembers: number;

  constructor(text: string, most = Number.POSITIVE_INFINITY) {
    this.#text = text;
    this.#left = most;
    this.#mostMembers = Number.isFinite(most) ? MAX_MEMBERS : most;
  }

  *value(start: number): CooperativeTask<unknown> {
    const code = this.#text.charCodeAt(start);
    if (code === OPEN_BRACKET) return yield* this.#array(start);
    if (code === OPEN_BRACE) return yield* this.#object(start);
    return yield* this.#scalar(start);
  }

  skipSpace(from: number): number {
    let at = from;
    while (isSpace(this.#text.charCodeAt(at))) at++;
    return at;
  }

  *#array(start: number): CooperativeTask<unknown[]> {
    const values: unknown[] = [];
    let at = this.skipSpace(start + 1);
    if (this.#isAt(at, CLOSE_BRACKET)) return values;
    for (;;) {
      const end = this.#runEnd(at);
      if (end === at) throw unexpected(this.#text, at);
      if (end === FAR) {
        const value = yield* this.value(at);
        if (!this.#isChecking) this.#push(values, value);
      } else {
        const some: unknown[] = JSON.parse(`[${this.#text.slice(at, end)}]`);
        if (!this.#isChecking) for (const value of some) this.#push(values, value);
        this.end = end;
      }
      yield;
      at = this.skipSpace(this.end);
      if (this.#isAt(at, CLOSE_BRACKET)) return values;
      at = this.#behindComma(at);
    }
  }

  *#object(start: number): CooperativeTask<Record<string, unknown>> {
    const object: Record<string, unknown> = {};
    let left = this.#mostMembers;
    yield* this.members(start, (name, value) => {
      if (this.#isChecking) return;
      this.#count();
      left--;
      if (left < 0) throw tooManyMembers();
      setMember(object, name, value);
    });
    return object;
  }

  #push(values: unknown[], value: unknown): void {
    this.#count();
    values.push(value);
  }

  #count(): void {
    this.#left--;
    if (this.#left < 0) throw tooManyWanted();
  }

  /** Hands over the members of the object that begins at `start`. Long unwanted members have no value. */
  *members(start: number, take: TakeMember, isWanted?: IsWanted): CooperativeTask<void> {
    let at = this.skipSpace(start + 1);
    if (this.#isAt(at, CLOSE_BRACE)) return;
    for (;;) {
      const end = this.#runEnd(at);
      if (end === at) throw unexpected(this.#text, at);
      if (end === FAR) {
        yield* this.#longMember(at, take, isWanted);
      } else {
        const some: Record<string, unknown> = JSON.parse(`{${this.#text.slice(at, end)}}`);
        for (const name of Object.keys(some)) take(name, some[name]);
        this.end = end;
      }
      yield;
      at = this.skipSpace(this.end);
      if (this.#isAt(at, CLOSE_BRACE)) return;
      at = this.#behindComma(at);
    }
  }

  *#longMember(start: number, take: TakeMember, isWanted: IsWanted | undefined): CooperativeTask<void> {
    const text = this.#text;
    if (text.charCodeAt(start) !== QUOTE) throw unexpected(text, start);
    const nameEnd = stringEnd(text, start);
    if (nameEnd - start > MAX_NAME_LENGTH) throw tooLongName();
    const name = String(JSON.parse(text.slice(start, nameEnd)));
    const colon = this.skipSpace(nameEnd);
    if (text.charCodeAt(colon) !== COLON) throw unexpected(text, colon);
    const isOuterChecking = this.#isChecking;
    if (isWanted?.(name) === false) this.#isChecking = true;
    const value = yield* this.value(this.skipSpace(colon + 1));
    this.#isChecking = isOuterChecking;
    take(name, value);
  }

  *#scalar(start: number): CooperativeTask<unknown> {
    const text = this.#text;
    if (text.charCodeAt(start) === QUOTE) return yield* this.#string(start);
    let end = start;
    const limit = start + MAX_NUMBER_LENGTH;
    for (let code = text.charCodeAt(end); !endsScalar(code); code = text.charCodeAt(end)) {
      if (end++ === limit) throw code === MINUS || isDigit(code) ? tooLongNumber() : unexpected(text, start);
    }
    this.end = end;
    return JSON.parse(text.slice(start, end));
  }

  *#string(start: number): CooperativeTask<string> {
    const text = this.#text;
    const close = stringEnd(text, start) - 1;
    this.end = close + 1;
    let value = '';
    let at = start + 1;
    while (at < close) {
      const end = Math.min(close, behindEscapes(text, at, at + STEP_LENGTH));
      const piece = String(JSON.parse(`"${text.slice(at, end)}"`));
      if (!this.#isChecking) value += piece;
      at = end;
      yield;
    }
    return value;
  }

  /** Returns the end of the last item from `start` on that ends within a step; `FAR` if not even the first one does. */
  #runEnd(start: number): number {
    const text = this.#text;
    const limit = Math.min(text.length, start + STEP_LENGTH);
    let depth = 0;
    let last = FAR;
    let at = start;
    while (at < limit) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        const end = stringEndWithin(text, at, limit);
        if (end === FAR) return last;
        at = end;
        continue;
      }
      if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
      else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
        if (depth === 0) return at;
        depth--;
      } else if (code === COMMA && depth === 0) last = at;
      at++;
    }
    return last;
  }

  /** Skips the character if it is there. */
  #isAt(at: number, code: number): boolean {
    if (this.#text.charCodeAt(at) !== code) return false;
    this.end = at + 1;
    return true;
  }

  #behindComma(at: number): number {
    if (this.#text.charCodeAt(at) !== COMMA) throw unexpected(this.#text, at);
    return this.skipSpace(at + 1);
  }
}

/** Works like an assignment, which would set the prototype for one name. */
function setMember(members: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') members[name] = value;
  else Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
}

/** Returns the position after the string whose opening quote is at `start`; `FAR` if it does not end before `limit`. */
function stringEndWithin(text: string, start: number, limit: number): number {
  for (let at = start + 1; at < limit; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at + 1;
  }
  return FAR;
}

/** Returns the first position from `to` on that is not inside an escape; `from` must not be inside one. */
function behindEscapes(text: string, from: number, to: number): number {
  let at = from;
  while (at < to) {
    if (text.charCodeAt(at) !== BACKSLASH) at++;
    else at += text.charCodeAt(at + 1) === LOWER_U ? UNICODE_ESCAPE : SHORT_ESCAPE;
  }
  return at;
}

function tooLongNumber(): DatabaseError {
  const reason = `A number has more than ${MAX_NUMBER_LENGTH} characters. Send it as a string.`;
  return new DatabaseError('bad_request', reason);
}

export function tooLongName(): DatabaseError {
  const reason = `The name of a member has more than ${MAX_NAME_LENGTH} characters. Send it as a value.`;
  return new DatabaseError('bad_request', reason);
}

function tooManyMembers(): DatabaseError {
  const reason = `An object in a member that begins with _ has more than ${MAX_MEMBERS} members; nothing was changed.`;
  return new DatabaseError('too_large', reason);
}

function tooManyWanted(): DatabaseError {
  const reason = `The members of a document that begin with _ have more than ${MAX_WANTED} values together; nothing was changed.`;
  return new DatabaseError('too_large', `${reason} Keep data in members of other names.`);
}

function unexpected(text: string, at: number): SyntaxError {
  return new SyntaxError(at < text.length ? `An unexpected character at ${at}` : 'The text ends too early');
}
