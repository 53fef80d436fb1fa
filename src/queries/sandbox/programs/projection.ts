/**
 * Leaves out what the map functions of a mapper can't see of a document. Parsing is most of what a map costs inside
 * QuickJS, some ten times what it costs here to pass over a member.
 */

import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../../../base/json/characters.ts';
import { JsonCursor } from '../../../base/json/json-cursor.ts';
import { KeptMembers } from '../../../base/json/kept-members.ts';
import { stringValue } from '../../../base/json/strings.ts';
import { membersUsed } from './source-scan.ts';

/** Returns the members to keep for all of these functions together; undefined: everything. `_id` is always kept, for the log. */
export function membersToKeep(sources: readonly string[]): ReadonlySet<string> | undefined {
  const kept = new Set(['_id']);
  for (const source of sources) {
    const members = membersUsed(source);
    if (members === undefined) return undefined;
    for (const member of members) kept.add(member);
  }
  return kept;
}

/** Returns the text of the same object with these members only, in their order. */
export function project(text: string, members: ReadonlySet<string>): string {
  const cursor = new JsonCursor(text);
  cursor.enter();
  const kept = new KeptMembers(text);
  kept.begin(cursor.position - 1);
  while (cursor.nextMember()) {
    if (members.has(cursor.name)) kept.keep(cursor.keyStart, cursor.valueEnd);
    else kept.leaveOut();
  }
  return kept.objectText(cursor.position);
}

/** Like `project`, for an object whose minified text comes in pieces: takes one after the other, and returns what is kept of each. */
export class StreamedProjection {
  readonly #members: ReadonlySet<string>;
  #depth = 0;
  #isInString = false;
  /** Whether the next character belongs to an escape that began before it. */
  #isEscaped = false;
  /** Whether the next string that begins, or the one that has begun, is the name of a member. */
  #isInName = false;
  /** The text of the name, its quotes included, as far as it was read. */
  #name = '';
  /** Whether what is read is the value of a member that is kept. */
  #isKept = false;
  #keptMembers = 0;

  constructor(members: ReadonlySet<string>) {
    this.#members = members;
  }

  next(piece: string): string {
    let kept = '';
    let keptFrom = 0;
    for (let at = 0; at < piece.length; ) {
      if (this.#isInString) {
        at = this.#passString(piece, at);
        continue;
      }
      const code = piece.charCodeAt(at);
      at++;
      if (this.#endsMember(code)) {
        if (this.#isKept) kept += piece.slice(keptFrom, at - 1);
        this.#isKept = false;
        this.#isInName = true;
      }
      kept += this.#pass(code);
      if (code === COLON && this.#depth === 1) keptFrom = at;
    }
    return this.#isKept ? kept + piece.slice(keptFrom) : kept;
  }

  /** Returns the position after the string, or after the piece if that ends within the string. */
  #passString(piece: string, from: number): number {
    const start = this.#isEscaped ? from + 1 : from;
    this.#isEscaped = false;
    let end = start;
    for (;;) {
      const quote = piece.indexOf('"', end);
      end = quote < 0 ? piece.length : quote;
      const isEscaped = backslashesBefore(piece, end, start) % 2 === 1;
      if (quote < 0) this.#isEscaped = isEscaped;
      else if (isEscaped) {
        end++;
        continue;
      } else {
        this.#isInString = false;
        end++;
      }
      if (this.#isInName) this.#name += piece.slice(from, end);
      return end;
    }
  }

  #endsMember(code: number): boolean {
    return this.#depth === 1 && (code === COMMA || code === CLOSE_BRACE);
  }

  /** Takes a character outside of strings. Returns what the projection has in its place, except for what a kept value has. */
  #pass(code: number): string {
    if (code === QUOTE) {
      this.#isInString = true;
      this.#name = '"';
    } else if (code === COLON && this.#isInName) {
      return this.#beginValue();
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      this.#depth++;
      this.#isInName = this.#depth === 1;
      if (this.#depth === 1) return '{';
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      this.#depth--;
      if (this.#depth === 0) return '}';
    }
    return '';
  }

  #beginValue(): string {
    this.#isInName = false;
    this.#isKept = this.#members.has(stringValue(this.#name));
    if (!this.#isKept) return '';
    this.#keptMembers++;
    return this.#keptMembers > 1 ? `,${this.#name}:` : `${this.#name}:`;
  }
}

function backslashesBefore(text: string, at: number, start: number): number {
  let first = at;
  while (first > start && text.charCodeAt(first - 1) === BACKSLASH) first--;
  return at - first;
}
