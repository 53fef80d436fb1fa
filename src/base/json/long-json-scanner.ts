/** Finds the ends of values as `JsonScanner` does, in steps: other work may run in the middle of a long value. */
import type { CooperativeTask } from '../shared/turn.ts';
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE, SPACE } from './characters.ts';
import { JsonScanner, MAX_DEPTH, NO_END } from './json-scanner.ts';

const STEP_LENGTH = 65_536;
/** Returned in place of an end that is not within the window. */
const FAR = -2;

/**
 * A `JsonScanner` finds near ends in a window of the text, which moves on when a value does not end in it. Only containers and
 * strings that are longer than the window are walked here.
 */
export class LongJsonScanner {
  readonly #text: string;
  readonly #whole: JsonScanner;
  #window: JsonScanner;
  /** Where the window begins. */
  #start = 0;
  #sawSpace = false;
  readonly #stepLength: number;

  /** `stepLength`: approximate number of characters checked in one step. */
  constructor(text: string, stepLength = STEP_LENGTH) {
    this.#text = text;
    this.#whole = new JsonScanner(text);
    this.#window = new JsonScanner(text.slice(0, stepLength));
    this.#stepLength = stepLength;
  }

  /** Whether white space outside strings was skipped. */
  get sawSpace(): boolean {
    return this.#sawSpace || this.#whole.sawSpace || this.#window.sawSpace;
  }

  /** Returns the position after the value that begins at `start`, inside `depth` containers, or `NO_END`. */
  *valueEnd(start: number, depth: number): CooperativeTask<number> {
    let end = this.#nearEnd(start, depth, false);
    if (end !== FAR) return end;
    this.#moveTo(start);
    yield;
    end = this.#nearEnd(start, depth, false);
    return end === FAR ? yield* this.#farEnd(start, depth) : end;
  }

  /** Returns the end of the value, or of the member, at `start`. */
  #nearEnd(start: number, depth: number, isMember: boolean): number {
    const at = start - this.#start;
    const { text } = this.#window;
    if (at < 0 || at >= text.length) return FAR;
    const end = isMember ? this.#window.memberEnd(at, depth) : this.#window.valueEnd(at, depth);
    // What is malformed in the window, or ends with it, may differ in the whole text.
    return end === NO_END || end >= text.length ? FAR : this.#start + end;
  }

  #moveTo(start: number): void {
    this.#sawSpace ||= this.#window.sawSpace;
    this.#window = new JsonScanner(this.#text.slice(start, start + this.#stepLength));
    this.#start = start;
  }

  *#farEnd(start: number, depth: number): CooperativeTask<number> {
    const code = this.#text.charCodeAt(start);
    if (code === QUOTE) return yield* this.#stringEnd(start);
    if (code !== OPEN_BRACE && code !== OPEN_BRACKET) return this.#whole.valueEnd(start, depth);
    return depth < MAX_DEPTH ? yield* this.#containerEnd(start, depth, code === OPEN_BRACE) : NO_END;
  }

  *#stringEnd(start: number): CooperativeTask<number> {
    const text = this.#text;
    let at = start + 1;
    let rest = at + this.#stepLength;
    for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at)) {
      // NaN, past the text's last character, is not above it either.
      if (!(code >= SPACE)) return NO_END;
      at = code === BACKSLASH ? this.#whole.escapeEnd(at + 1) : at + 1;
      if (at === NO_END) return NO_END;
      if (at < rest) continue;
      rest = at + this.#stepLength;
      yield;
    }
    return at + 1;
  }

  *#containerEnd(start: number, depth: number, isObject: boolean): CooperativeTask<number> {
    const text = this.#text;
    const close = isObject ? CLOSE_BRACE : CLOSE_BRACKET;
    let at = this.#whole.skipSpace(start + 1);
    if (text.charCodeAt(at) === close) return at + 1;
    for (;;) {
      let end = this.#nearEnd(at, isObject ? depth : depth + 1, isObject);
      if (end === FAR) end = isObject ? yield* this.#memberEnd(at, depth) : yield* this.valueEnd(at, depth + 1);
      if (end === NO_END) return NO_END;
      at = this.#whole.skipSpace(end);
      const code = text.charCodeAt(at);
      if (code === close) return at + 1;
      if (code !== COMMA) return NO_END;
      at = this.#whole.skipSpace(at + 1);
    }
  }

  *#memberEnd(start: number, depth: number): CooperativeTask<number> {
    if (this.#text.charCodeAt(start) !== QUOTE) return NO_END;
    const nameEnd = yield* this.valueEnd(start, depth);
    const valueStart = nameEnd === NO_END ? NO_END : this.#whole.valueStart(nameEnd);
    return valueStart === NO_END ? NO_END : yield* this.valueEnd(valueStart, depth + 1);
  }
}
