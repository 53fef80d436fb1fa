/**
 * Finds the parts of a JSON text without building their values, so that a value can be kept exactly as it was written:
 * member order, digits of numbers, escapes. Everything here is for text that `JSON.parse` accepts; on any other text the
 * results mean nothing, but each step ends or throws. Iterative throughout: depth costs nothing.
 */

import type { CooperativeTask } from '../shared/turn.ts';
import { CLOSE_BRACE, CLOSE_BRACKET, COMMA, endsScalar, OPEN_BRACE, OPEN_BRACKET, QUOTE, SPACE } from './characters.ts';
import { endedEarly, stringEnd, stringValue } from './strings.ts';

/** Number of characters skipped in one step. */
const STEP_LENGTH = 65_536;

/**
 * Walks over one container of a JSON text at a time. Ranges are [start, end) and hold no white space at their ends.
 *
 * ```ts
 * const cursor = new JsonCursor('{"a": [1, 2]}');
 * cursor.enter();
 * while (cursor.nextMember()) console.log(cursor.name, cursor.valueText); // 'a' '[1, 2]'
 * ```
 *
 * A member's value can be entered in turn, through `moveTo(cursor.valueStart)` on this or another cursor.
 */
export class JsonCursor {
  readonly text: string;
  /** Where the walk is: at the start of a value, or after a member, an element or a whole container. */
  position: number;
  /** Whether white space outside strings was skipped since this was last set to false. */
  sawSpace = false;
  /** The member's name with its quotes. */
  keyStart = 0;
  keyEnd = 0;
  /** The value of the current member or element. */
  valueStart = 0;
  valueEnd = 0;
  /** Where a walk in steps yields next. */
  #nextRest = STEP_LENGTH;

  constructor(text: string, position = 0) {
    this.text = text;
    this.position = position;
  }

  moveTo(position: number): void {
    this.position = position;
  }

  /** The current member's name, with its escapes resolved. */
  get name(): string {
    return stringValue(this.text, this.keyStart, this.keyEnd);
  }

  /** The text of the current member's or element's value. */
  get valueText(): string {
    return this.text.slice(this.valueStart, this.valueEnd);
  }

  /** Moves into the object or array that begins here, after any white space. */
  enter(): void {
    this.position = this.#skipSpace(this.position) + 1;
  }

  /** Moves to the next member of the object; returns false at its end, which it then skips. */
  nextMember(): boolean {
    if (!this.nextName()) return false;
    this.skipValue();
    return true;
  }

  /** Like `nextMember`, but stops before the value, for the caller to skip or walk through. */
  nextName(): boolean {
    let at = this.#nextItem(CLOSE_BRACE);
    if (at < 0) return false;
    this.keyStart = at;
    at = stringEnd(this.text, at);
    this.keyEnd = at;
    if (this.text.charCodeAt(at) <= SPACE) at = this.#skipSpace(at);
    this.position = at + 1;
    return true;
  }

  /** Moves to the next element of the array; returns false at its end, which it then skips. */
  nextElement(): boolean {
    if (!this.nextElementStart()) return false;
    this.skipValue();
    return true;
  }

  /** Like `nextElement`, but stops before the value, for the caller to skip or walk through. */
  nextElementStart(): boolean {
    const at = this.#nextItem(CLOSE_BRACKET);
    if (at < 0) return false;
    this.position = at;
    return true;
  }

  /** Skips the value that begins here, after any white space. */
  skipValue(): void {
    const { text } = this;
    let at = this.position;
    let code = text.charCodeAt(at);
    if (code <= SPACE) {
      at = this.#skipSpace(at);
      code = text.charCodeAt(at);
    }
    this.valueStart = at;
    if (code === QUOTE) at = stringEnd(text, at);
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) at = this.#containerEnd(at);
    else at = scalarEnd(text, at);
    this.valueEnd = at;
    this.position = at;
  }

  /** Like `skipValue`, for a value of any length: other work may run in the middle of it, and between many short ones. */
  *skipValueInSteps(): CooperativeTask<void> {
    const { text } = this;
    const start = this.#skipSpace(this.position);
    const first = text.charCodeAt(start);
    let at = start;
    if (first === QUOTE) at = stringEnd(text, start);
    else if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
      for (at++; !endsScalar(text.charCodeAt(at)); at++) {
        if (at < this.#nextRest) continue;
        this.#nextRest = at + STEP_LENGTH;
        yield;
      }
    } else {
      let depth = 1;
      while (depth > 0) {
        const code = text.charCodeAt(++at);
        if (code === QUOTE) at = stringEnd(text, at) - 1;
        else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
        else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
        else if (at >= text.length) endedEarly();
        else if (code <= SPACE) this.sawSpace = true;
        if (at < this.#nextRest) continue;
        this.#nextRest = at + STEP_LENGTH;
        yield;
      }
      at++;
    }
    this.valueStart = start;
    this.valueEnd = at;
    this.position = at;
    if (at < this.#nextRest) return;
    this.#nextRest = at + STEP_LENGTH;
    yield;
  }

  /** Like `nextMember`, for a value of any length: see `skipValueInSteps`. */
  *nextMemberInSteps(): CooperativeTask<boolean> {
    if (this.text.length <= STEP_LENGTH) return this.nextMember();
    if (!this.nextName()) return false;
    yield* this.skipValueInSteps();
    return true;
  }

  /** Like `nextElement`, for a value of any length: see `skipValueInSteps`. */
  *nextElementInSteps(): CooperativeTask<boolean> {
    if (this.text.length <= STEP_LENGTH) return this.nextElement();
    if (!this.nextElementStart()) return false;
    yield* this.skipValueInSteps();
    return true;
  }

  /** Returns the start of the next item of a container, or -1 when `close` ends it. */
  #nextItem(close: number): number {
    const { text } = this;
    let at = this.position;
    let code = text.charCodeAt(at);
    if (code <= SPACE) {
      at = this.#skipSpace(at);
      code = text.charCodeAt(at);
    }
    if (code === COMMA) {
      at++;
      code = text.charCodeAt(at);
      if (code <= SPACE) at = this.#skipSpace(at);
    } else if (code === close) {
      this.position = at + 1;
      return -1;
    } else if (at >= text.length) {
      endedEarly();
    }
    return at;
  }

  #skipSpace(from: number): number {
    const { text } = this;
    let at = from;
    while (text.charCodeAt(at) <= SPACE) at++;
    if (at > from) this.sawSpace = true;
    return at;
  }

  /** Returns the position after the container that begins at `start`. */
  #containerEnd(start: number): number {
    const { text } = this;
    let depth = 1;
    let at = start;
    while (depth > 0) {
      const code = text.charCodeAt(++at);
      if (code === QUOTE) at = stringEnd(text, at) - 1;
      else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
      else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
      else if (!(code > SPACE)) {
        if (at >= text.length) endedEarly();
        this.sawSpace = true;
      }
    }
    return at + 1;
  }
}

/** Returns the position after a number or one of `true`, `false`, `null`. */
function scalarEnd(text: string, start: number): number {
  let at = start + 1;
  while (!endsScalar(text.charCodeAt(at))) at++;
  return at;
}
