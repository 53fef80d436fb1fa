/** JSON as it is written: numbers digit for digit, escapes as spelt, members in their order, even those that occur twice. */

export type ScalarKind = 'string' | 'number' | 'boolean' | 'null';
export type ContainerKind = 'array' | 'object';
export type JsonKind = ScalarKind | ContainerKind;

export interface JsonScalar {
  readonly kind: ScalarKind;
  /** As in the source; a string with its quotes. */
  readonly text: string;
}

export interface JsonContainer {
  readonly kind: ContainerKind;
  readonly entries: readonly JsonEntry[];
}

export interface JsonEntry {
  /** No other entry has it. It stays when the entry is changed or moved. */
  readonly key: number;
  /** The name of a member as in the source, with its quotes. Empty in arrays. */
  readonly nameText: string;
  readonly value: JsonTree;
}

export type JsonTree = JsonScalar | JsonContainer;

/** The text is not JSON. */
export class JsonMistake extends Error {
  /** Place in the text, from 0. */
  readonly at: number;
  /** Both from 1. */
  readonly line: number;
  readonly column: number;

  constructor(text: string, at: number, message: string) {
    const before = text.slice(0, at).split('\n');
    const column = (before.at(-1)?.length ?? 0) + 1;
    super(`line ${before.length}, column ${column}: ${message}`);
    this.name = 'JsonMistake';
    this.at = at;
    this.line = before.length;
    this.column = column;
  }
}

/** Arrays and objects around a value: the parser is recursive. */
const MAX_DEPTH = 1_000;

let lastKey = 0;

/** Returns a key that no entry has. */
export function newKey(): number {
  lastKey += 1;
  return lastKey;
}

/** Fails with a `JsonMistake`. */
export function parseJson(text: string): JsonTree {
  return new Parser(text).parse();
}

export function isContainer(tree: JsonTree): tree is JsonContainer {
  return tree.kind === 'array' || tree.kind === 'object';
}

/** The value of a string's source. */
export function stringOf(text: string): string {
  return JSON.parse(text);
}

/** The name of a member. */
export function nameOf({ nameText }: JsonEntry): string {
  return nameText === '' ? '' : stringOf(nameText);
}

/** Returns the member's value; of several members with the name the last one's, as every parser does. */
export function memberOf(tree: JsonTree, name: string): JsonTree | undefined {
  if (tree.kind !== 'object') return undefined;
  return tree.entries.findLast((entry) => nameOf(entry) === name)?.value;
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /true|false|null/y;
const SPACE = /[ \t\n\r]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): JsonTree {
    const tree = this.#value(0);
    this.#skipSpace();
    if (this.#at < this.#text.length) this.#fail('the text goes on after its end.');
    return tree;
  }

  #value(level: number): JsonTree {
    if (level > MAX_DEPTH) this.#fail(`values are nested in more than ${MAX_DEPTH} others.`);
    this.#skipSpace();
    const first = this.#text[this.#at];
    if (first === '{') return { kind: 'object', entries: this.#entries('}', level) };
    if (first === '[') return { kind: 'array', entries: this.#entries(']', level) };
    if (first === '"') return { kind: 'string', text: this.#string() };
    const number = this.#match(NUMBER);
    if (number !== undefined) return { kind: 'number', text: number };
    const word = this.#match(WORD);
    if (word === undefined) this.#fail(first === undefined ? 'the text ends here.' : 'a value is missing.');
    return { kind: word === 'null' ? 'null' : 'boolean', text: word };
  }

  #entries(end: '}' | ']', level: number): readonly JsonEntry[] {
    const entries: JsonEntry[] = [];
    this.#at += 1;
    this.#skipSpace();
    if (this.#takes(end)) return entries;
    for (;;) {
      const nameText = end === '}' ? this.#name() : '';
      entries.push({ key: newKey(), nameText, value: this.#value(level + 1) });
      this.#skipSpace();
      if (this.#takes(end)) return entries;
      if (!this.#takes(',')) this.#fail(`a comma or ${end} is missing.`);
      this.#skipSpace();
    }
  }

  #name(): string {
    if (this.#text[this.#at] !== '"') this.#fail('the name of a field, in double quotes, is missing.');
    const name = this.#string();
    this.#skipSpace();
    if (!this.#takes(':')) this.#fail('a colon is missing.');
    return name;
  }

  #string(): string {
    const start = this.#at;
    this.#at += 1;
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (Number.isNaN(code)) this.#fail('the text ends within a string.');
      if (code < 0x20) this.#fail('a string can contain line breaks and tabs only as \\n and \\t.');
      if (code === 0x22) break;
      if (code !== 0x5c) this.#at += 1;
      else if (this.#match(ESCAPE) === undefined) this.#fail('there is no such escape.');
    }
    this.#at += 1;
    return this.#text.slice(start, this.#at);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? [];
    this.#at += found?.length ?? 0;
    return found;
  }

  #takes(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #skipSpace(): void {
    this.#match(SPACE);
  }

  #fail(message: string): never {
    throw new JsonMistake(this.#text, this.#at, message);
  }
}
