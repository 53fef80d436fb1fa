import {
  BACKSLASH,
  CLOSE_BRACKET,
  COMMA,
  isSpace,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../../base/json/characters.ts';
import { StreamedContainer } from '../../base/json/streamed-container.ts';

/** `auto`: one of the others, depending on how the text begins. */
export const inputFormats = ['auto', 'array', 'lines', 'docs', 'rows'] as const;
export type InputFormat = (typeof inputFormats)[number];

/** The input can't be read; the message says where and why. */
export class InputError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'InputError';
  }
}

/** Without this limit a missing closing brace would make it collect the rest of the input in memory. */
const longestDocument = 128 * 1024 * 1024;

/** Enough for all members that precede `docs` or `rows` in responses of databases with this interface. */
const prefixLength = 4096;

/** The beginning of an object up to its `docs` or `rows`, if only members of such responses precede them. */
const containerPrefix =
  /^\s*\{\s*(?:"(?:total_rows|offset|update_seq|new_edits|all_or_nothing)"\s*:\s*(?:"[^"\\]*"|[\w.+-]+)\s*,\s*)*"(docs|rows)"\s*:\s*\[/;

const byteOrderMark = 0xfeff;

const secondObject =
  'there is more text after the object with its documents; import the parts one by one, or use --format lines if each line is a document';

/** The number of a document's characters that an error quotes. */
const SHOWN_LENGTH = 60;

/**
 * Cuts a JSON text that arrives in pieces into its documents, each exactly as it was written. It finds where they begin and end, and does
 * not check what is inside them, nor that they are objects: one element that is not an object keeps no other one out. At most one document is
 * kept in memory.
 *
 * The text is an array, values one after another (JSON lines, but line breaks don't matter), or an object with such an array as `docs` or
 * `rows`. For anything else `push` or `finish` throws an `InputError`.
 */
export class DocumentSplitter {
  readonly #format: InputFormat;
  /** Known after the first characters: `array`, `lines`, or the member that the prefix of an object ends with. */
  #layout: 'array' | 'lines' | 'docs' | 'rows' | undefined;
  /** Text that is not complete yet: first the prefix, then the document that has begun. */
  #pending = '';
  /** The document that has begun. */
  readonly #document = new StreamedValue();
  /** After the array: the object that holds it. */
  readonly #holder = new StreamedContainer();
  #needsComma = false;
  #afterArray = false;
  /** Whether everything that was opened is closed. */
  #isComplete = false;
  #count = 0;
  #offset = 0;

  constructor(format: InputFormat) {
    this.#format = format;
  }

  /** Whether `push` yields rows with a member `doc` instead of documents. Known when it has yielded the first one. */
  get givesRows(): boolean {
    return this.#layout === 'rows';
  }

  /** Yields the documents that end in this piece. */
  *push(text: string): Generator<string> {
    if (this.#layout !== undefined) {
      yield* this.#scan(text);
      return;
    }
    this.#pending += text;
    if (this.#pending.length >= prefixLength) yield* this.#start();
  }

  /** To be called after the last piece: yields the remaining documents, and throws if the text ends too early. */
  *finish(): Generator<string> {
    if (this.#layout === undefined && this.#pending.trim() !== '') yield* this.#start();
    if (this.#document.isWord && this.#layout === 'lines') {
      this.#document.end();
      yield this.#complete('');
    }
    if (this.#document.isOpen) {
      // If a brace or a quote is missing in it, everything after it counts as part of it.
      const beginning = this.#pending.trimStart().slice(0, SHOWN_LENGTH);
      this.#fail(`the text ends inside document ${this.#count + 1}, which begins ${beginning}`);
    }
    const isContainer = this.#layout !== undefined && this.#layout !== 'lines';
    if (isContainer && !this.#afterArray) this.#fail('the text ends before the closing bracket of its array');
    if (this.#afterArray && !this.#isComplete) this.#fail('the text ends before the closing brace of its object');
  }

  #start(): Generator<string> {
    const text = this.#pending.charCodeAt(0) === byteOrderMark ? this.#pending.slice(1) : this.#pending;
    this.#pending = '';
    const begin = this.#findBeginning(text);
    this.#offset = begin;
    return this.#scan(text.slice(begin));
  }

  /** Decides the layout and returns the position of the first document. */
  #findBeginning(text: string): number {
    const first = text.search(/\S/);
    const isArray = text.charCodeAt(first) === OPEN_BRACKET;
    if (this.#format === 'array' || (this.#format === 'auto' && isArray)) {
      if (!isArray) this.#fail('the text does not begin with [');
      this.#layout = 'array';
      return first + 1;
    }
    const [prefix, member] = this.#format === 'lines' ? [] : (containerPrefix.exec(text) ?? []);
    if (prefix !== undefined && (this.#format === 'auto' || this.#format === member)) {
      this.#layout = member === 'rows' ? 'rows' : 'docs';
      return prefix.length;
    }
    if (this.#format === 'docs' || this.#format === 'rows') {
      this.#fail(`the text is not an object that begins with an array "${this.#format}"`);
    }
    this.#layout = 'lines';
    return 0;
  }

  *#scan(text: string): Generator<string> {
    let start = this.#document.isOpen ? 0 : -1;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#document.isOpen) {
        const position = this.#document.take(code);
        if (position === INSIDE) continue;
        yield this.#complete(text.slice(start, position === BEHIND ? at : at + 1));
        start = -1;
        if (position !== BEHIND) continue;
      }
      if (this.#afterArray) this.#behindArray(code);
      else if (this.#between(code, at)) start = at;
    }
    if (start >= 0) this.#keep(text.slice(start));
    this.#offset += text.length;
  }

  /** A document whose last piece was read. */
  #complete(lastPiece: string): string {
    const text = this.#pending + lastPiece;
    this.#pending = '';
    if (!isPlausible(text)) {
      const shown = JSON.stringify(text.slice(0, SHOWN_LENGTH));
      this.#fail(`${shown} after document ${this.#count} is not a JSON value`);
    }
    this.#count++;
    return text;
  }

  /** Takes one character between documents. Returns true if it is the first one of the next. */
  #between(code: number, at: number): boolean {
    const isArray = this.#layout !== 'lines';
    if (!(isArray && this.#needsComma) && this.#document.begin(code)) {
      this.#needsComma = true;
      return true;
    }
    if (code === COMMA && isArray && this.#needsComma) {
      this.#needsComma = false;
    } else if (code === CLOSE_BRACKET && isArray && (this.#needsComma || this.#count === 0)) {
      this.#afterArray = true;
      this.#isComplete = this.#layout === 'array';
      if (!this.#isComplete) this.#holder.open();
    } else if (!isSpace(code)) {
      const found = JSON.stringify(String.fromCharCode(code));
      const position = `character ${this.#offset + at + 1}`;
      this.#fail(`${found} at ${position}, after document ${this.#count}, where an object should begin`);
    }
    return false;
  }

  #keep(text: string): void {
    this.#pending += text;
    if (this.#pending.length <= longestDocument) return;
    this.#fail(`document ${this.#count + 1} is longer than 128 MB; most likely a closing brace or quote is missing`);
  }

  /** Only the rest of the object around the array may follow, and nothing after that, because it would be lost silently. */
  #behindArray(code: number): void {
    if (!this.#isComplete) this.#isComplete = this.#holder.take(code);
    else if (!isSpace(code)) this.#fail(this.#layout === 'array' ? 'there is more text after the array' : secondObject);
  }

  #fail(what: string): never {
    throw new InputError(`The input can't be read: ${what}.`);
  }
}

/** The position of a character relative to the value: within it, its last one, or the first one after it. */
const INSIDE = 0;
const LAST = 1;
const BEHIND = 2;
type Position = typeof INSIDE | typeof LAST | typeof BEHIND;

/** The characters of a number, `true`, `false` and `null`. */
const WORD_CHARACTER = /[\w.+-]/;
const WORD = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/** Finds the end of any JSON value whose text comes in pieces, character by character. */
class StreamedValue {
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
function isPlausible(text: string): boolean {
  return /^[{["]/.test(text) || WORD.test(text);
}
