/**
 * Reads most documents in one walk over their text, without building their values, which takes a fraction of the time of
 * `JSON.parse`. It is strict: `JSON.parse` accepts everything that it accepts, and reads the same members. It is not sure of documents
 * that have a name twice, a reserved member that is not plain, or deeply nested values, nor of malformed ones; the fallback parser
 * reads those.
 */
import {
  BACKSLASH,
  CLOSE_BRACE,
  COMMA,
  LOWER_F,
  LOWER_T,
  OPEN_BRACE,
  QUOTE,
  SPACE,
  UNDERSCORE,
} from '../../../base/json/characters.ts';
import { type JsonScanner, NO_END } from '../../../base/json/json-scanner.ts';
import { KeptMembers } from '../../../base/json/kept-members.ts';
import { LongJsonScanner } from '../../../base/json/long-json-scanner.ts';
import { MAX_NAME_LENGTH } from '../../../base/json/parse-in-steps.ts';
import { minify, minifyInSteps } from '../../../base/json/white-space.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import type { ReservedValues } from './reserved-members.ts';

/** Keeps a hash within the integers that JavaScript engines store most cheaply. */
const SMALL = 0x3fff_ffff;

/** Characters of a history that are parsed in one step. */
const LONG_HISTORY = 65_536;

/** Up to this many names are compared one by one, which takes less time than a set. */
const FEW_NAMES = 32;

export class DocumentScanner implements ReservedValues {
  /** The reserved members of the document that was scanned last. */
  id: string | undefined;
  rev: string | undefined;
  deleted = false;
  revisions: unknown;
  /** The scanner is never sure of a document that has attachments. */
  readonly attachments = undefined;
  /** The document's text, minified, without its reserved members. */
  body = '';
  /** The end of the document. */
  end = 0;
  readonly #json: JsonScanner;
  readonly #text: string;
  readonly #kept: KeptMembers;
  /** Hashes of the names so far. Two names with the same hash count as the same name. */
  readonly #names: number[] = [];
  /** The hashes, once there are more than a few. */
  #manyNames: HashSet | undefined;

  constructor(json: JsonScanner) {
    this.#json = json;
    this.#text = json.text;
    this.#kept = new KeptMembers(json.text);
  }

  /** Scans the document whose brace is at `start`. Returns false if not sure of it; otherwise the fields describe the document. */
  scan(start: number): boolean {
    this.#begin(start);
    const end = this.#text.charCodeAt(start) === OPEN_BRACE ? this.#documentEnd(start) : NO_END;
    if (end === NO_END) return false;
    const body = this.#kept.objectText(end);
    this.body = this.#json.sawSpace ? minify(body) : body;
    this.end = end;
    return true;
  }

  /** Like `scan`, but lets other tasks run in the middle of a long document. */
  *scanInSteps(start: number): CooperativeTask<boolean> {
    this.#begin(start);
    const long = new LongJsonScanner(this.#text);
    const end = this.#text.charCodeAt(start) === OPEN_BRACE ? yield* this.#longDocumentEnd(start, long) : NO_END;
    if (end === NO_END) return false;
    const body = this.#kept.objectText(end);
    this.body = this.#json.sawSpace || long.sawSpace ? yield* minifyInSteps(body) : body;
    this.end = end;
    return true;
  }

  #begin(start: number): void {
    this.id = undefined;
    this.rev = undefined;
    this.deleted = false;
    this.revisions = undefined;
    this.#names.length = 0;
    this.#manyNames = undefined;
    this.#json.sawSpace = false;
    this.#kept.begin(start);
  }

  #documentEnd(start: number): number {
    const text = this.#text;
    const json = this.#json;
    let at = json.skipSpace(start + 1);
    if (text.charCodeAt(at) === CLOSE_BRACE) return at + 1;
    for (;;) {
      const end = this.#memberEnd(at);
      if (end === NO_END) return NO_END;
      if (end > json.limit) {
        json.isBeyond = true;
        return NO_END;
      }
      at = json.skipSpace(end);
      const code = text.charCodeAt(at);
      if (code === CLOSE_BRACE) return at + 1;
      if (code !== COMMA) return NO_END;
      at = json.skipSpace(at + 1);
    }
  }

  #memberEnd(start: number): number {
    const valueStart = this.#valueStart(start);
    return valueStart === NO_END ? NO_END : this.#take(start, valueStart, this.#json.valueEnd(valueStart, 1));
  }

  *#longDocumentEnd(start: number, long: LongJsonScanner): CooperativeTask<number> {
    const text = this.#text;
    const json = this.#json;
    let at = json.skipSpace(start + 1);
    if (text.charCodeAt(at) === CLOSE_BRACE) return at + 1;
    for (;;) {
      const valueStart = this.#valueStart(at);
      const end = valueStart === NO_END ? NO_END : this.#take(at, valueStart, yield* long.valueEnd(valueStart, 1));
      if (end === NO_END) return NO_END;
      at = json.skipSpace(end);
      const code = text.charCodeAt(at);
      if (code === CLOSE_BRACE) return at + 1;
      if (code !== COMMA) return NO_END;
      at = json.skipSpace(at + 1);
    }
  }

  /** Returns the start of the value of the member that begins at `start`. */
  #valueStart(start: number): number {
    const nameEnd = this.#text.charCodeAt(start) === QUOTE ? this.#nameEnd(start) : NO_END;
    return nameEnd === NO_END ? NO_END : this.#json.valueStart(nameEnd);
  }

  /** Takes the member whose value is at [valueStart, end), and returns its end; `NO_END` if not sure of it. */
  #take(start: number, valueStart: number, end: number): number {
    if (end === NO_END) return NO_END;
    if (this.#text.charCodeAt(start + 1) !== UNDERSCORE) this.#kept.keep(start, end);
    else if (this.#takeReserved(start + 2, valueStart, end)) this.#kept.leaveOut();
    else return NO_END;
    return end;
  }

  /** Returns the position after the name whose quote is at `start`; `NO_END` if the document already had that name. */
  #nameEnd(start: number): number {
    const text = this.#text;
    let at = start + 1;
    let hash = 0;
    const most = start + MAX_NAME_LENGTH;
    for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(++at)) {
      // NaN, after the text's last character, is not above either.
      if (!(code >= SPACE) || at > most) return NO_END;
      if (code === BACKSLASH) return this.#escapedNameEnd(start);
      hash = withCode(hash, code);
    }
    return this.#isNew(hash) ? at + 1 : NO_END;
  }

  /** Like `#nameEnd`, for a name that has an escape. */
  #escapedNameEnd(start: number): number {
    const json = this.#json;
    const { limit } = json;
    json.limit = Math.min(limit, start + MAX_NAME_LENGTH);
    const end = json.stringEnd(start);
    json.limit = limit;
    if (end === NO_END) return NO_END;
    const name = this.#string(start, end);
    let hash = 0;
    for (let at = 0; at < name.length; at++) hash = withCode(hash, name.charCodeAt(at));
    return name.charCodeAt(0) !== UNDERSCORE && this.#isNew(hash) ? end : NO_END;
  }

  #isNew(hash: number): boolean {
    const names = this.#names;
    if (names.length === FEW_NAMES) {
      this.#manyNames ??= new HashSet(names);
      return this.#manyNames.add(hash);
    }
    for (let index = 0; index < names.length; index++) if (names[index] === hash) return false;
    names.push(hash);
    return true;
  }

  /** Reads a reserved member; `name` is the position after the underscore of its name. Returns false if not sure of it. */
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
    if (first !== OPEN_BRACE || end - valueStart > LONG_HISTORY || !text.startsWith('revisions"', name)) return false;
    this.revisions = JSON.parse(text.slice(valueStart, end));
    return true;
  }

  /** Returns the value of the string at [start, end), without a slice of the text: a slice would keep all of the text in memory. */
  #string(start: number, end: number): string {
    return String(JSON.parse(this.#text.slice(start, end)));
  }
}

/** The number of sets that share the hashes: one set of a million names would be copied in one step whenever it grows. */
const SETS = 64;

class HashSet {
  readonly #sets: (Set<number> | undefined)[] = [];

  constructor(hashes: readonly number[]) {
    for (const hash of hashes) this.add(hash);
  }

  /** Returns false if the hash was already there. */
  add(hash: number): boolean {
    const set = this.#setOf(hash);
    return set.size < set.add(hash).size;
  }

  #setOf(hash: number): Set<number> {
    const index = hash % SETS;
    const set = this.#sets[index] ?? new Set();
    this.#sets[index] = set;
    return set;
  }
}

function withCode(hash: number, code: number): number {
  return (Math.imul(hash, 31) + code) & SMALL;
}
