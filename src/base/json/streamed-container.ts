import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './characters.ts';

/**
 * Finds the end of an object or array whose text arrives in pieces, character by character. It looks only at
 * strings, brackets and braces: the code that parses the whole text checks the rest.
 */
export class StreamedContainer {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  /** Whether it has begun and has not ended. */
  get isOpen(): boolean {
    return this.#depth > 0;
  }

  /** Begins with a container whose opening bracket or brace was read. */
  open(): void {
    this.#depth = 1;
  }

  /** Takes the next character, and returns whether it is the container's last one. */
  take(code: number): boolean {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === BACKSLASH) this.#isEscaped = true;
      else if (code === QUOTE) this.#isInString = false;
      return false;
    }
    if (code === QUOTE) this.#isInString = true;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) this.#depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) return --this.#depth === 0;
    return false;
  }
}
