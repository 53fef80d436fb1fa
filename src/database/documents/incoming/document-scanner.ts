/**
 * Reads most documents in one walk over their text, without building their values, which takes a fraction of the time of
 * `JSON.parse`. It is strict: `JSON.parse` accepts all that it accepts, and reads the same members. It is not sure of documents in
 * which a name comes twice, a reserved member is not plain, or values are nested deeply, nor of malformed ones; those are for the
 * fallback parser.
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
import { minify, minifyInSteps } from '../../../base/json/minify-json.ts';
import { LONGEST_NAME } from '../../../base/json/parse-in-steps.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import type { ReservedValues } from './reserved-members.ts';

/** Keeps a hash within the integers that JavaScript engines store most cheaply. */
const SMALL = 0x3fff_ffff;

/** Characters of a history that are parsed in one go. */
const LONG_HISTORY = 65_536;

/** So many names are compared one by one, which takes less time than a set. */
const FEW_NAMES = 32;

export class DocumentScanner implements ReservedValues {
  /** What the document that was scanned last has in its reserved members. */
  id: string | undefined;
  rev: string | undefined;
  deleted = false;
  revisions: unknown;
  /** The scanner is never sure of a document that has some. */
  readonly attachments = undefined;
  /** Its text, minified, without its reserved members. */
  body = '';
  /** Where it ends. */
  end = 0;
  readonly #json: JsonScanner;
  readonly #text: string;
  readonly #kept: KeptMembers;
  /** Hashes of the names so far. Two names that have the same hash are taken for the same name. */
  readonly #names: number[] = [];
  /** The hashes, once there are more than a few. */
  #manyNames: HashSet | undefined;

  constructor(json: JsonScanner) {
    this.#json = json;
    this.#text = json.text;
    this.#kept = new KeptMembers(json.text);
  }

  /** Reads the document whose brace is at `start`. Gives false where it is not sure of it; else the fields describe the document. */
  scan(start: number): boolean {
    this.#begin(start);
    const end = this.#text.charCodeAt(start) === OPEN_BRACE ? this.#documentEnd(start) : NO_END;
    if (end === NO_END) return false;
    const body = this.#kept.objectText(end);
    this.body = this.#json.sawSpace ? minify(body) : body;
    this.end = end;
    return true;
  }

  /** As `scan`: others may have a turn in the middle of a long document. */
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

  /** Where the value of the member that begins at `start` does. */
  #valueStart(start: number): number {
    const nameEnd = this.#text.charCodeAt(start) === QUOTE ? this.#nameEnd(start) : NO_END;
    return nameEnd === NO_END ? NO_END : this.#json.valueStart(nameEnd);
  }

  /** Takes the member with its value at [valueStart, end), and gives its end; `NO_END` where it is not sure of it. */
  #take(start: number, valueStart: number, end: number): number {
    if (end === NO_END) return NO_END;
    if (this.#text.charCodeAt(start + 1) !== UNDERSCORE) this.#kept.keep(start, end);
    else if (this.#takeReserved(start + 2, valueStart, end)) this.#kept.leaveOut();
    else return NO_END;
    return end;
  }

  /** Position behind the name whose quote is at `start`; `NO_END` where the document has had that name before. */
  #nameEnd(start: number): number {
    const text = this.#text;
    let at = start + 1;
    let hash = 0;
    const most = start + LONGEST_NAME;
    for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(++at)) {
      // NaN, behind the text's last character, is not above either.
      if (!(code >= SPACE) || at > most) return NO_END;
      if (code === BACKSLASH) return this.#escapedNameEnd(start);
      hash = withCode(hash, code);
    }
    return this.#isNew(hash) ? at + 1 : NO_END;
  }

  /** As `#nameEnd`, for a name that has an escape. */
  #escapedNameEnd(start: number): number {
    const json = this.#json;
    const { limit } = json;
    json.limit = Math.min(limit, start + LONGEST_NAME);
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

  /** Reads a reserved member, `name` being the position behind the underscore of its name. False where it is not sure of it. */
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

  /** The value of the string at [start, end), with no part of the text: a slice would keep all of the text in memory. */
  #string(start: number, end: number): string {
    return String(JSON.parse(this.#text.slice(start, end)));
  }
}

/** So many sets share the hashes: those of a million names in one would be copied in one go whenever it grows. */
const SETS = 64;

class HashSet {
  readonly #sets: (Set<number> | undefined)[] = [];

  constructor(hashes: readonly number[]) {
    for (const hash of hashes) this.add(hash);
  }

  /** False where it has the hash. */
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
