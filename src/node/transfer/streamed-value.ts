import { BACKSLASH, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../../base/json/characters.ts';
import { StreamedContainer } from '../../base/json/streamed-container.ts';

/** The position of a character relative to the value: within it, its last one, or the first one after it. */
export const INSIDE = 0;
export const LAST = 1;
export const BEHIND = 2;
type Position = typeof INSIDE | typeof LAST | typeof BEHIND;

/** The characters of a number, `true`, `false` and `null`. */
const WORD_CHARACTER = /[\w.+-]/;
const WORD = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/** Finds the end of any JSON value whose text comes in pieces, character by character. */
export class StreamedValue {
  readonly #container = new StreamedContainer();
  #kind: 'container' | 'string' | 'word' | undefined;
  #isEscaped = false;

  get isOpen(): boolean {
    return this.#kind !== undefined;
  }

  /** Whether nothing in it marks its end: a number, or a word such as `null`. */
  get isWord(): boolean {
    return this.#kind === 'word';
  }

  /** Takes the first character. Returns false for a character that no value begins with. */
  begin(code: number): boolean {
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      this.#kind = 'container';
      this.#container.open();
    } else if (code === QUOTE) this.#kind = 'string';
    else if (/[-\dtfn]/.test(String.fromCharCode(code))) this.#kind = 'word';
    return this.isOpen;
  }

  /** Takes the next character. */
  take(code: number): Position {
    const position = this.#positionOf(code);
    if (position !== INSIDE) this.#kind = undefined;
    return position;
  }

  /** Ends a word at the end of the text. */
  end(): void {
    this.#kind = undefined;
  }

  #positionOf(code: number): Position {
    if (this.#kind === 'container') return this.#container.take(code) ? LAST : INSIDE;
    if (this.#kind === 'word') return WORD_CHARACTER.test(String.fromCharCode(code)) ? INSIDE : BEHIND;
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === BACKSLASH) this.#isEscaped = true;
    else if (code === QUOTE) return LAST;
    return INSIDE;
  }
}

/** Whether a supposed number or word is one. The reader of a container or a string finds out whether it is valid JSON. */
export function isPlausible(text: string): boolean {
  return /^[{["]/.test(text) || WORD.test(text);
}
