import { CLOSE_BRACKET, COMMA, isSpace, OPEN_BRACE, OPEN_BRACKET } from '../../json/characters.ts';
import { StreamedContainer } from '../../json/streamed-container.ts';
import type { InputFormat } from '../command-line/arguments.ts';

/** The input can't be read on from here; the message says where and why. */
export class InputError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'InputError';
  }
}

/** An opening brace without its closing one would otherwise gather the rest of the input in memory. */
const longestDocument = 128 * 1024 * 1024;

/** Long enough for every member that stands before `docs` or `rows` in what databases of this family answer. */
const prefixLength = 4096;

/** An object's beginning up to its `docs` or `rows`, when before them stand only members that such answers have. */
const containerPrefix =
  /^\s*\{\s*(?:"(?:total_rows|offset|update_seq|new_edits|all_or_nothing)"\s*:\s*(?:"[^"\\]*"|[\w.+-]+)\s*,\s*)*"(docs|rows)"\s*:\s*\[/;

const byteOrderMark = 0xfeff;

const secondObject =
  'there is more text behind the object with its documents; import the parts one by one, or say --format lines if each line is a document';

/** Characters of a document that errors show. */
const SHOWN_LENGTH = 60;

/**
 * Cuts a JSON text that comes in pieces into its documents, each exactly as it was written. It finds where objects
 * begin and end, and leaves it to the reader of a document to find fault with its inside. Holds one document at most.
 *
 * The text is an array of objects, objects one after another (JSON lines, but line breaks don't matter), or an object
 * with such an array under `docs` or `rows`. Whatever else it is makes `push` or `finish` throw an `InputError`.
 */
export class DocumentSplitter {
  readonly #format: InputFormat;
  /** Decides itself with the first bytes: `array`, `lines`, or what the prefix of an object shows. */
  #layout: 'array' | 'lines' | 'docs' | 'rows' | undefined;
  /** Text that is not understood yet: the prefix, then the begun document. */
  #held = '';
  /** The document that has begun, or behind the array the object that holds the array. */
  readonly #container = new StreamedContainer();
  #needsComma = false;
  #afterArray = false;
  /** All that was begun is closed. */
  #isOver = false;
  #count = 0;
  #offset = 0;

  constructor(format: InputFormat) {
    this.#format = format;
  }

  /** Whether what `push` gives are rows with a document under `doc`, rather than documents. Known once there is one. */
  get givesRows(): boolean {
    return this.#layout === 'rows';
  }

  /** Documents that end in this piece. */
  *push(text: string): Generator<string> {
    if (this.#layout !== undefined) {
      yield* this.#scan(text);
      return;
    }
    this.#held += text;
    if (this.#held.length >= prefixLength) yield* this.#start();
  }

  /** To be called behind the last piece: gives what is still held, and throws if the text ends too early. */
  *finish(): Generator<string> {
    if (this.#layout === undefined && this.#held.trim() !== '') yield* this.#start();
    if (this.#container.isOpen && !this.#afterArray) {
      // What is missing somewhere in it has all that follows count as part of it.
      const beginning = this.#held.trimStart().slice(0, SHOWN_LENGTH);
      this.#fail(`the text ends inside document ${this.#count + 1}, which begins ${beginning}`);
    }
    const isContainer = this.#layout !== undefined && this.#layout !== 'lines';
    if (isContainer && !this.#afterArray) this.#fail('the text ends before the closing bracket of its array');
    if (this.#afterArray && !this.#isOver) this.#fail('the text ends before the closing brace of its object');
  }

  #start(): Generator<string> {
    const text = this.#held.charCodeAt(0) === byteOrderMark ? this.#held.slice(1) : this.#held;
    this.#held = '';
    const begin = this.#findBeginning(text);
    this.#offset = begin;
    return this.#scan(text.slice(begin));
  }

  /** Decides the layout and gives the position of the first document. */
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
      this.#fail(`the text is no object that begins with an array "${this.#format}"`);
    }
    this.#layout = 'lines';
    return 0;
  }

  *#scan(text: string): Generator<string> {
    let start = this.#container.isOpen && !this.#afterArray ? 0 : -1;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#afterArray) this.#behindArray(code);
      else if (!this.#container.isOpen) {
        if (code === OPEN_BRACE) start = at;
        this.#between(code, at);
      } else if (this.#container.take(code)) {
        this.#count++;
        yield this.#held + text.slice(start, at + 1);
        this.#held = '';
        start = -1;
      }
    }
    if (start >= 0) this.#hold(text.slice(start));
    this.#offset += text.length;
  }

  /** One character between documents. */
  #between(code: number, at: number): void {
    const isArray = this.#layout !== 'lines';
    if (code === OPEN_BRACE && !(isArray && this.#needsComma)) {
      this.#container.open();
      this.#needsComma = true;
    } else if (code === COMMA && isArray && this.#needsComma) {
      this.#needsComma = false;
    } else if (code === CLOSE_BRACKET && isArray && (this.#needsComma || this.#count === 0)) {
      this.#afterArray = true;
      this.#isOver = this.#layout === 'array';
      if (!this.#isOver) this.#container.open();
    } else if (!isSpace(code)) {
      const found = JSON.stringify(String.fromCharCode(code));
      const place = `character ${this.#offset + at + 1}`;
      this.#fail(`${found} at ${place}, behind document ${this.#count}, where an object should begin`);
    }
  }

  #hold(text: string): void {
    this.#held += text;
    if (this.#held.length <= longestDocument) return;
    this.#fail(`document ${this.#count + 1} is longer than 128 MB; most likely a closing brace or quote is missing`);
  }

  /** Only the rest of the array's object may come there, and behind that nothing: it would be lost without a word. */
  #behindArray(code: number): void {
    if (!this.#isOver) this.#isOver = this.#container.take(code);
    else if (!isSpace(code))
      this.#fail(this.#layout === 'array' ? 'there is more text behind the array' : secondObject);
  }

  #fail(what: string): never {
    throw new InputError(`The input can't be read: ${what}.`);
  }
}
