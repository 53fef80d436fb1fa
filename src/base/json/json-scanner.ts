/**
 * Finds the ends of values in a text that might not be JSON, without building the values. It is as
 * strict as `JSON.parse` (RFC 8259): a value whose end it finds is one that `JSON.parse` accepts. It gives up on values that
 * are nested too deeply, since it works by recursion, and on those that are not portable (portable-values.ts); so the caller
 * needs `JSON.parse` to tell these from malformed ones.
 */
import {
  BACKSLASH,
  CARRIAGE_RETURN,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  EIGHT,
  isDigit,
  isHexDigit,
  LINE_FEED,
  LOWER_B,
  LOWER_C,
  LOWER_CASE,
  LOWER_D,
  LOWER_E,
  LOWER_F,
  LOWER_N,
  LOWER_R,
  LOWER_T,
  LOWER_U,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  PLUS,
  POINT,
  QUOTE,
  SLASH,
  SPACE,
  TAB,
  ZERO,
} from './characters.ts';

/** Returned in place of an end: the value is malformed, nested too deeply, or not portable. */
export const NO_END = -1;

/** Maximum number of containers around a value. */
export const MAX_DEPTH = 100;
/** What may follow a backslash, except `u` with its four hexadecimal digits. */
const ESCAPED: readonly number[] = [QUOTE, BACKSLASH, SLASH, LOWER_B, LOWER_F, LOWER_N, LOWER_R, LOWER_T];
const HEX_DIGITS = 4;
/** A number of this many digits, with an exponent of this many characters, such as `e99`, always fits a double. */
const SURE_DIGITS = 200;
const SURE_EXPONENT = 3;
/** Longer ones are refused when the value is parsed. */
const MAX_NUMBER_LENGTH = 1_048_576;

export class JsonScanner {
  readonly text: string;
  /** Whether white space outside strings was skipped since this was last set to false. */
  sawSpace = false;
  /** The scan gives up on what does not end before this, and sets `isBeyond`. Default: the text's end. */
  limit: number;
  /** Whether the scan gave up on something since this was last set to false. */
  isBeyond = false;

  constructor(text: string) {
    this.text = text;
    this.limit = text.length;
  }

  /** Returns the position of the next character that is not white space. */
  skipSpace(from: number): number {
    const { text } = this;
    let at = from;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code !== SPACE && code !== LINE_FEED && code !== CARRIAGE_RETURN && code !== TAB) return at;
      this.sawSpace = true;
      at++;
    }
  }

  /** Returns the position after the value that begins at `start`, `depth` being the number of containers around it. */
  valueEnd(start: number, depth: number): number {
    const code = this.text.charCodeAt(start);
    if (code === QUOTE) return this.stringEnd(start);
    if (code === OPEN_BRACE) return depth < MAX_DEPTH ? this.#objectEnd(start, depth) : NO_END;
    if (code === OPEN_BRACKET) return depth < MAX_DEPTH ? this.#arrayEnd(start, depth) : NO_END;
    return code === MINUS || isDigit(code) ? this.#numberEnd(start) : this.#literalEnd(start);
  }

  /** Returns the position after the string whose opening quote is at `start`. */
  stringEnd(start: number): number {
    const { text, limit } = this;
    let at = start + 1;
    for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at)) {
      if (code < SPACE || at >= limit) return this.#giveUpAt(at);
      at = code === BACKSLASH ? this.escapeEnd(at + 1) : at + 1;
      if (at === NO_END) return NO_END;
    }
    return at + 1;
  }

  #giveUpAt(at: number): number {
    if (at >= this.limit) this.isBeyond = true;
    return NO_END;
  }

  /** Returns the position of a member's value, `nameEnd` being after its name; `NO_END` if no colon follows the name. */
  valueStart(nameEnd: number): number {
    const colon = this.skipSpace(nameEnd);
    return this.text.charCodeAt(colon) === COLON ? this.skipSpace(colon + 1) : NO_END;
  }

  #objectEnd(start: number, depth: number): number {
    const { text } = this;
    let at = this.skipSpace(start + 1);
    if (text.charCodeAt(at) === CLOSE_BRACE) return at + 1;
    for (;;) {
      const end = this.memberEnd(at, depth);
      if (end === NO_END || end > this.limit) return this.#giveUpAt(end);
      at = this.skipSpace(end);
      const code = text.charCodeAt(at);
      if (code === CLOSE_BRACE) return at + 1;
      if (code !== COMMA) return NO_END;
      at = this.skipSpace(at + 1);
    }
  }

  /** Returns the position after the member whose name begins at `start`, of an object with `depth` containers around it. */
  memberEnd(start: number, depth: number): number {
    const nameEnd = this.text.charCodeAt(start) === QUOTE ? this.stringEnd(start) : NO_END;
    if (nameEnd === NO_END) return NO_END;
    const valueStart = this.valueStart(nameEnd);
    return valueStart === NO_END ? NO_END : this.valueEnd(valueStart, depth + 1);
  }

  #arrayEnd(start: number, depth: number): number {
    const { text } = this;
    let at = this.skipSpace(start + 1);
    if (text.charCodeAt(at) === CLOSE_BRACKET) return at + 1;
    for (;;) {
      const end = this.valueEnd(at, depth + 1);
      if (end === NO_END || end > this.limit) return this.#giveUpAt(end);
      at = this.skipSpace(end);
      const code = text.charCodeAt(at);
      if (code === CLOSE_BRACKET) return at + 1;
      if (code !== COMMA) return NO_END;
      at = this.skipSpace(at + 1);
    }
  }

  /** Returns the position after the escape whose backslash is before `start`. */
  escapeEnd(start: number): number {
    const { text } = this;
    const code = text.charCodeAt(start);
    if (code !== LOWER_U) return ESCAPED.includes(code) ? start + 1 : NO_END;
    const end = this.#hexDigitsEnd(start + 1);
    const half = end === NO_END ? 'none' : this.#surrogateHalf(start + 1);
    if (half === 'none') return end;
    const isPair = half === 'first' && text.startsWith('\\u', end) && this.#surrogateHalf(end + 2) === 'second';
    return isPair ? this.#hexDigitsEnd(end + 2) : NO_END;
  }

  #hexDigitsEnd(start: number): number {
    const end = start + HEX_DIGITS;
    for (let at = start; at < end; at++) if (!isHexDigit(this.text.charCodeAt(at))) return NO_END;
    return end;
  }

  /** Returns which half of a surrogate pair the four hexadecimal digits at `start` represent: D800 to DBFF, or DC00 to DFFF. */
  #surrogateHalf(start: number): 'first' | 'second' | 'none' {
    if ((this.text.charCodeAt(start) | LOWER_CASE) !== LOWER_D) return 'none';
    const digit = this.text.charCodeAt(start + 1) | LOWER_CASE;
    if (digit < EIGHT) return 'none';
    return digit < LOWER_C ? 'first' : 'second';
  }

  #numberEnd(start: number): number {
    const { text } = this;
    let at = text.charCodeAt(start) === MINUS ? start + 1 : start;
    const whole = this.#digitsEnd(at);
    if (whole === at || (text.charCodeAt(at) === ZERO && whole > at + 1)) return NO_END;
    at = whole;
    if (text.charCodeAt(at) === POINT) {
      const fraction = this.#digitsEnd(at + 1);
      if (fraction === at + 1) return NO_END;
      at = fraction;
    }
    const end = (text.charCodeAt(at) | LOWER_CASE) === LOWER_E ? this.#exponentEnd(at + 1) : at;
    if (end - start > MAX_NUMBER_LENGTH) return NO_END;
    const isSure = end - at <= SURE_EXPONENT && whole - start <= SURE_DIGITS;
    return isSure || Number.isFinite(Number(text.slice(start, end))) ? end : NO_END;
  }

  #exponentEnd(start: number): number {
    const sign = this.text.charCodeAt(start);
    const digits = sign === PLUS || sign === MINUS ? start + 1 : start;
    const end = this.#digitsEnd(digits);
    return end === digits ? NO_END : end;
  }

  /** Returns the position after the digits (maybe none) that begin at `start`; if there are more than a number may have, one among them. */
  #digitsEnd(start: number): number {
    let at = start;
    const most = start + MAX_NUMBER_LENGTH;
    while (at <= most && isDigit(this.text.charCodeAt(at))) at++;
    return at;
  }

  #literalEnd(start: number): number {
    const { text } = this;
    if (text.startsWith('true', start) || text.startsWith('null', start)) return start + 4;
    return text.startsWith('false', start) ? start + 5 : NO_END;
  }
}
