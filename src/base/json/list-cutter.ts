/**
 * Cuts the elements out of a list whose text arrives in pieces, each exactly as it was written. The list is an array, or a member of an object that
 * is an array. Elements must be objects or arrays themselves; except for strings and brackets, their content is not checked.
 */
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  isSpace,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './characters.ts';
import { isObject, type JsonObject } from './objects.ts';

/** Default maximum number of characters of one element, and the maximum of the text around the list. */
const MAX_ELEMENT_LENGTH = 268_435_456;
const MAX_REST_LENGTH = 65_536;

/** An element of the list is neither an object nor an array. */
export class ScalarElement extends SyntaxError {
  constructor() {
    super('An element of the list is no object');
    this.name = 'ScalarElement';
  }
}

export class ListCutter {
  readonly #member: string;
  readonly #longestElement: number;
  #place: 'around' | 'between' | 'inside' = 'around';
  /** The containers that are open around the list, and in the element that has begun. */
  #depthAround = 0;
  #depthInside = 0;
  #isInString = false;
  /** The string continues in the next piece, after a backslash that escapes its first character. */
  #isEscaped = false;
  /** The beginning of an element whose end has not arrived yet. */
  #pending = '';
  /** The text around the list, with a 0 in place of the list. */
  #rest = '';
  #isCut = false;

  /** `member`: the name of the list if the text is an object. `longestElement`: in characters. */
  constructor(member: string, longestElement = MAX_ELEMENT_LENGTH) {
    this.#member = member;
    this.#longestElement = longestElement;
  }

  /** Returns the elements that end in this piece. Throws `SyntaxError` if the text has no such list. */
  push(text: string): string[] {
    const elements: string[] = [];
    let at = 0;
    while (at < text.length) {
      if (this.#place === 'between') {
        at = this.#passBetween(text, at);
        continue;
      }
      const from = at;
      if (this.#place === 'around') {
        at = this.#passAround(text, from);
        continue;
      }
      at = this.#passInside(text, from);
      if (this.#depthInside > 0) {
        this.#keep(text.slice(from, at));
        continue;
      }
      elements.push(this.#pending + text.slice(from, at));
      this.#pending = '';
      this.#place = 'between';
    }
    return elements;
  }

  /** Returns the members around the list, after the last piece. Throws `SyntaxError` if the text ended too early. */
  finish(): JsonObject {
    if (this.#place !== 'around') throw new SyntaxError('The text ended before its list did');
    const value: unknown = JSON.parse(this.#rest);
    if (!this.#isCut) throw new SyntaxError(`The text has no list ${this.#member}`);
    return isObject(value) ? value : {};
  }

  /** Advances to the list, or to the end of the piece. */
  #passAround(text: string, from: number): number {
    let at = from;
    while (at < text.length) {
      if (this.#isInString) {
        at = this.#stringEnd(text, at);
        continue;
      }
      const code = text.charCodeAt(at);
      if (code === OPEN_BRACKET && !this.#isCut && this.#isListBehind(`${this.#rest}${text.slice(from, at)}`)) {
        this.#keepRest(`${text.slice(from, at)}0`);
        this.#isCut = true;
        this.#place = 'between';
        return at + 1;
      }
      if (code === QUOTE) this.#isInString = true;
      else if (code === OPEN_BRACE || code === OPEN_BRACKET) this.#depthAround++;
      else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) this.#depthAround--;
      at++;
    }
    this.#keepRest(text.slice(from));
    return at;
  }

  #isListBehind(before: string): boolean {
    const text = before.trimEnd();
    if (this.#depthAround === 0) return text === '';
    if (this.#depthAround > 1 || !text.endsWith(':')) return false;
    return text.slice(0, -1).trimEnd().endsWith(`"${this.#member}"`);
  }

  /** Advances to the next element, past the list, or to the end of the piece. */
  #passBetween(text: string, from: number): number {
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === OPEN_BRACE || code === OPEN_BRACKET) {
        this.#place = 'inside';
        this.#depthInside = 0;
        return at;
      }
      if (code === CLOSE_BRACKET) {
        this.#place = 'around';
        return at + 1;
      }
      if (code !== COMMA && !isSpace(code)) throw new ScalarElement();
    }
    return text.length;
  }

  /** Advances past the element, or to the end of the piece. */
  #passInside(text: string, from: number): number {
    let at = from;
    let depth = this.#depthInside;
    while (at < text.length) {
      if (this.#isInString) {
        at = this.#stringEnd(text, at);
        continue;
      }
      const code = text.charCodeAt(at);
      at++;
      if (code === QUOTE) this.#isInString = true;
      else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
      else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
        depth--;
        if (depth === 0) break;
      }
    }
    this.#depthInside = depth;
    return at;
  }

  /** Returns the position after the string in which `from` lies, or the end of the piece. */
  #stringEnd(text: string, from: number): number {
    let at = from;
    if (this.#isEscaped) {
      this.#isEscaped = false;
      at++;
    }
    for (;;) {
      const quote = text.indexOf('"', at);
      const end = quote < 0 ? text.length : quote;
      let backslashes = 0;
      while (end - backslashes > at && text.charCodeAt(end - backslashes - 1) === BACKSLASH) backslashes++;
      const isEscaped = backslashes % 2 === 1;
      if (quote < 0) {
        this.#isEscaped = isEscaped;
        return end;
      }
      if (!isEscaped) {
        this.#isInString = false;
        return quote + 1;
      }
      at = quote + 1;
    }
  }

  #keep(text: string): void {
    this.#pending += text;
    if (this.#pending.length > this.#longestElement) throw new SyntaxError('An element of the list is too long');
  }

  #keepRest(text: string): void {
    this.#rest += text;
    if (this.#rest.length > MAX_REST_LENGTH) throw new SyntaxError('There is too much text around the list');
  }
}
