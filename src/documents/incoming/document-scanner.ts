/**
 * Reads most documents in one walk over their text, without building their values, which costs a fraction of
 * `JSON.parse`. It is strict: what it accepts `JSON.parse` accepts, too, with the same members (RFC 8259). What it is not sure of it
 * leaves to the caller, and so to `JSON.parse`: a name that comes twice, a reserved member that is not plain, great depth, and
 * whatever is malformed.
 */
import { minify } from '../../json/minify-json.ts';
import { BodyRuns } from './body-runs.ts';

const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const SPACE = 0x20;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const UNDERSCORE = 0x5f;
const LOWER_E = 0x65;
const LOWER_F = 0x66;
const LOWER_T = 0x74;
const LOWER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** Turns an upper-case letter of ASCII into its lower case. */
const CASE = 0x20;

/** Keeps a number within what engines store most cheaply. */
const SMALL = 0x3fff_ffff;

const UNSURE = -1;
const MAX_DEPTH = 100;
/** So many names are compared one by one, which takes less time than a set. */
const FEW_NAMES = 32;
/** What may follow a backslash, but for the four hexadecimal digits with their `u`. */
const ESCAPED: readonly number[] = [QUOTE, BACKSLASH, 0x2f, 0x62, LOWER_F, 0x6e, 0x72, LOWER_T];
const HEX_DIGITS = 4;

export class DocumentScanner {
  /** What the document that was scanned last has in its reserved members. */
  id: string | undefined;
  rev: string | undefined;
  deleted = false;
  /** The value of `_revisions`. */
  revisions: unknown;
  /** Its text, minified, without its reserved members. */
  body = '';
  /** Where it ends. */
  end = 0;
  readonly #text: string;
  readonly #runs: BodyRuns;
  /** Hashes of the names so far. Two names with one hash may be one name. */
  readonly #names: number[] = [];
  /** All of them, where they are more than a few. */
  #manyNames: Set<number> | undefined;
  #sawSpace = false;

  constructor(text: string) {
    this.#text = text;
    this.#runs = new BodyRuns(text);
  }

  /** Where the next character that is no white space lies. */
  skipSpace(from: number): number {
    const text = this.#text;
    let at = from;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code !== SPACE && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
      this.#sawSpace = true;
      at++;
    }
  }

  /** Whether a document begins at `start` (its brace) of which everything is sure; it is described by the fields then. */
  scan(start: number): boolean {
    this.id = undefined;
    this.rev = undefined;
    this.deleted = false;
    this.revisions = undefined;
    this.#names.length = 0;
    this.#manyNames = undefined;
    this.#sawSpace = false;
    this.#runs.begin(start);
    const end = this.#text.charCodeAt(start) === OPEN_BRACE ? this.#container(start, 0) : UNSURE;
    if (end === UNSURE) return false;
    const body = this.#runs.body(end);
    this.body = this.#sawSpace ? minify(body) : body;
    this.end = end;
    return true;
  }

  #member(start: number): number {
    const nameEnd = this.#text.charCodeAt(start) === QUOTE ? this.#nameEnd(start) : UNSURE;
    if (nameEnd === UNSURE) return UNSURE;
    const colon = this.skipSpace(nameEnd);
    if (this.#text.charCodeAt(colon) !== COLON) return UNSURE;
    const valueStart = this.skipSpace(colon + 1);
    const end = this.#value(valueStart, 1);
    if (end === UNSURE) return UNSURE;
    if (this.#text.charCodeAt(start + 1) !== UNDERSCORE) this.#runs.keep(start, end);
    else if (this.#takeReserved(start + 2, valueStart, end)) this.#runs.cut();
    else return UNSURE;
    return end;
  }

  /** Behind a plain name that the document has not had yet. */
  #nameEnd(start: number): number {
    const text = this.#text;
    let at = start + 1;
    let hash = 0;
    for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(++at)) {
      // NaN, behind the text's last character, is not above either.
      if (!(code >= SPACE)) return UNSURE;
      if (code === BACKSLASH) return this.#escapedNameEnd(start);
      hash = withCode(hash, code);
    }
    return this.#isNew(hash) ? at + 1 : UNSURE;
  }

  /** As `#nameEnd`, for a name that has an escape. */
  #escapedNameEnd(start: number): number {
    const end = this.#stringEnd(start);
    if (end === UNSURE) return UNSURE;
    const name = this.#string(start, end);
    let hash = 0;
    for (let at = 0; at < name.length; at++) hash = withCode(hash, name.charCodeAt(at));
    return name.charCodeAt(0) !== UNDERSCORE && this.#isNew(hash) ? end : UNSURE;
  }

  #isNew(hash: number): boolean {
    const names = this.#names;
    if (names.length === FEW_NAMES) {
      this.#manyNames ??= new Set(names);
      return this.#manyNames.size < this.#manyNames.add(hash).size;
    }
    for (let index = 0; index < names.length; index++) if (names[index] === hash) return false;
    names.push(hash);
    return true;
  }

  /** The member whose name goes on at `name`, behind its underscore. */
  #takeReserved(name: number, valueStart: number, end: number): boolean {
    const text = this.#text;
    const first = text.charCodeAt(valueStart);
    if (first === QUOTE) {
      if (text.startsWith('id"', name)) this.id = this.#string(valueStart, end);
      else if (text.startsWith('rev"', name)) this.rev = this.#string(valueStart, end);
      else return false;
      return true;
    }
    if (text.startsWith('deleted"', name)) {
      this.deleted = first === LOWER_T;
      return this.deleted || first === LOWER_F;
    }
    if (first !== OPEN_BRACE || !text.startsWith('revisions"', name)) return false;
    this.revisions = JSON.parse(text.slice(valueStart, end));
    return true;
  }

  /** A slice would keep the whole text in memory, and the width of its characters. */
  #string(start: number, end: number): string {
    return String(JSON.parse(this.#text.slice(start, end)));
  }

  /** Behind the value that begins at `start`. */
  #value(start: number, depth: number): number {
    const code = this.#text.charCodeAt(start);
    if (code === QUOTE) return this.#stringEnd(start);
    if (code === OPEN_BRACE || code === OPEN_BRACKET) return depth < MAX_DEPTH ? this.#container(start, depth) : UNSURE;
    return code === MINUS || isDigit(code) ? this.#number(start) : this.#literal(start);
  }

  #stringEnd(start: number): number {
    const text = this.#text;
    let at = start + 1;
    for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at)) {
      if (!(code >= SPACE)) return UNSURE;
      at = code === BACKSLASH ? this.#escapeEnd(at + 1) : at + 1;
      if (at === UNSURE) return UNSURE;
    }
    return at + 1;
  }

  /** Behind the escape whose backslash is before `start`. */
  #escapeEnd(start: number): number {
    const text = this.#text;
    const code = text.charCodeAt(start);
    if (code !== LOWER_U) return ESCAPED.includes(code) ? start + 1 : UNSURE;
    const end = start + 1 + HEX_DIGITS;
    for (let at = start + 1; at < end; at++) if (!isHexDigit(text.charCodeAt(at))) return UNSURE;
    return end;
  }

  /** Behind the object or list that begins at `start`; the document itself has depth 0. */
  #container(start: number, depth: number): number {
    const text = this.#text;
    const isObject = text.charCodeAt(start) === OPEN_BRACE;
    const close = isObject ? CLOSE_BRACE : CLOSE_BRACKET;
    let at = this.skipSpace(start + 1);
    if (text.charCodeAt(at) === close) return at + 1;
    for (;;) {
      if (depth === 0) at = this.#member(at);
      else at = isObject ? this.#innerMember(at, depth) : this.#value(at, depth + 1);
      if (at === UNSURE) return UNSURE;
      at = this.skipSpace(at);
      const code = text.charCodeAt(at);
      if (code === close) return at + 1;
      if (code !== COMMA) return UNSURE;
      at = this.skipSpace(at + 1);
    }
  }

  #innerMember(start: number, depth: number): number {
    const nameEnd = this.#text.charCodeAt(start) === QUOTE ? this.#stringEnd(start) : UNSURE;
    if (nameEnd === UNSURE) return UNSURE;
    const colon = this.skipSpace(nameEnd);
    return this.#text.charCodeAt(colon) === COLON ? this.#value(this.skipSpace(colon + 1), depth + 1) : UNSURE;
  }

  #number(start: number): number {
    const text = this.#text;
    let at = text.charCodeAt(start) === MINUS ? start + 1 : start;
    const whole = this.#digits(at);
    if (whole === at || (text.charCodeAt(at) === ZERO && whole > at + 1)) return UNSURE;
    at = whole;
    if (text.charCodeAt(at) === POINT) {
      const fraction = this.#digits(at + 1);
      if (fraction === at + 1) return UNSURE;
      at = fraction;
    }
    if ((text.charCodeAt(at) | CASE) !== LOWER_E) return at;
    const sign = text.charCodeAt(at + 1);
    const digits = sign === PLUS || sign === MINUS ? at + 2 : at + 1;
    const end = this.#digits(digits);
    return end === digits ? UNSURE : end;
  }

  /** Behind the digits that begin at `start`. */
  #digits(start: number): number {
    let at = start;
    while (isDigit(this.#text.charCodeAt(at))) at++;
    return at;
  }

  #literal(start: number): number {
    const text = this.#text;
    if (text.startsWith('true', start) || text.startsWith('null', start)) return start + 4;
    return text.startsWith('false', start) ? start + 5 : UNSURE;
  }
}

function withCode(hash: number, code: number): number {
  return (Math.imul(hash, 31) + code) & SMALL;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

function isHexDigit(code: number): boolean {
  return isDigit(code) || ((code | CASE) >= 0x61 && (code | CASE) <= LOWER_F);
}
