/** Parses patterns into syntax trees. */
import { badArgument } from '../query-error.ts';
import {
  anyCharacter,
  type CharacterTest,
  ESCAPED_SETS,
  ignoringCase,
  NAMED_SETS,
  not,
  notLineFeed,
  range,
  union,
} from './pattern-characters.ts';
import type { PatternRoom } from './selector-room.ts';

/** A condition that matches between two characters. */
export type Assertion = 'lineStart' | 'lineEnd' | 'textStart' | 'textEnd' | 'lastLineEnd' | 'wordEdge' | 'notWordEdge';

export type PatternNode =
  /** `cost`: steps of a test. */
  | { readonly kind: 'character'; readonly test: CharacterTest; readonly cost: number }
  | { readonly kind: 'assertion'; readonly assertion: Assertion }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly PatternNode[] }
  /** `most` may be infinite. */
  | { readonly kind: 'repeat'; readonly part: PatternNode; readonly least: number; readonly most: number };

type CharacterNode = Extract<PatternNode, { readonly kind: 'character' }>;

interface Flags {
  readonly ignoreCase: boolean;
  readonly multiline: boolean;
  readonly dotAll: boolean;
}

/** More than a sensible pattern has, and far less than the stack can take. */
const MAX_DEPTH = 100;
/** Steps of a test that checks both cases of a character, and of one that checks a property. */
const CASES_COST = 8;
const PROPERTY_COST = 4;

const CONTROLS: ReadonlyMap<string, number> = new Map([
  ['n', 0x0a],
  ['r', 0x0d],
  ['t', 0x09],
  ['f', 0x0c],
  ['v', 0x0b],
  ['e', 0x1b],
  ['a', 0x07],
  ['0', 0],
]);

/** By the letter after the backslash. */
const ASSERTIONS: ReadonlyMap<string, Assertion> = new Map([
  ['b', 'wordEdge'],
  ['B', 'notWordEdge'],
  ['A', 'textStart'],
  ['z', 'textEnd'],
  ['Z', 'lastLineEnd'],
]);

const COUNTED = /\{(\d+)(?:(,)(\d*))?\}/y;
const HEXADECIMAL = /x(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{2}))|u([0-9a-fA-F]{4})/y;
const PROPERTY = /[pP](?:\{(\^?)([^}]*)\}|([A-Z]))/y;
const NAMED = /\[:(\^?)([a-z]+):\]/y;
const FLAGS = /\?([ims]*)(?:-([ims]*))?([:)])/y;
const GROUP_NAME = /\?P?<[A-Za-z_]\w*>/y;

/** Parses a pattern. Fails with 400 `bad_arg`. */
export function parsePatternTree(source: string, room: PatternRoom): PatternNode {
  return new PatternParser(source, room).parse();
}

class PatternParser {
  readonly #source: string;
  readonly #room: PatternRoom;
  #position = 0;
  #depth = 0;
  #flags: Flags = { ignoreCase: false, multiline: false, dotAll: false };

  constructor(source: string, room: PatternRoom) {
    this.#source = source;
    this.#room = room;
  }

  parse(): PatternNode {
    const node = this.#choice();
    if (this.#position < this.#source.length) this.#fail('It has a ) without its (.');
    return node;
  }

  #choice(): PatternNode {
    if (++this.#depth > MAX_DEPTH) this.#fail(`Groups are nested ${MAX_DEPTH} deep at most.`);
    const outer = this.#flags;
    const parts = [this.#sequence()];
    while (this.#take('|')) parts.push(this.#sequence());
    this.#flags = outer;
    this.#depth--;
    return { kind: 'choice', parts };
  }

  #sequence(): PatternNode {
    const parts: PatternNode[] = [];
    for (;;) {
      const next = this.#source.charAt(this.#position);
      if (next === '' || next === '|' || next === ')') return { kind: 'sequence', parts };
      const atom = this.#atom();
      parts.push(this.#repeated(atom));
    }
  }

  #repeated(part: PatternNode): PatternNode {
    let node = part;
    for (let count = this.#count(); count !== undefined; count = this.#count()) {
      if (node !== part) this.#fail('A quantifier follows another one. Put what is repeated in ().');
      node = { kind: 'repeat', part, ...count };
      // A lazy quantifier is read as a greedy one, because only the existence of a match matters.
      if (!this.#take('?') && this.#take('+'))
        this.#fail('Possessive quantifiers are not supported. Leave out the + after the quantifier.');
    }
    return node;
  }

  #count(): { readonly least: number; readonly most: number } | undefined {
    if (this.#take('*')) return { least: 0, most: Number.POSITIVE_INFINITY };
    if (this.#take('+')) return { least: 1, most: Number.POSITIVE_INFINITY };
    if (this.#take('?')) return { least: 0, most: 1 };
    const found = this.#match(COUNTED);
    if (found === undefined) return undefined;
    const [, first = '', comma, last = ''] = found;
    const least = Number(first);
    if (comma === undefined) return { least, most: least };
    const most = last === '' ? Number.POSITIVE_INFINITY : Number(last);
    if (most < least) this.#fail(`In ${found[0]} the first number is larger than the second one.`);
    return { least, most };
  }

  #atom(): PatternNode {
    const character = this.#next();
    const { multiline, dotAll } = this.#flags;
    switch (character) {
      case '(':
        return this.#group();
      case '[':
        return this.#set();
      case '.':
        return { kind: 'character', test: dotAll ? anyCharacter : notLineFeed, cost: 1 };
      case '^':
        return { kind: 'assertion', assertion: multiline ? 'lineStart' : 'textStart' };
      case '$':
        return { kind: 'assertion', assertion: multiline ? 'lineEnd' : 'lastLineEnd' };
      case '*':
      case '+':
      case '?':
        return this.#fail(
          `There is nothing before the ${character} that it could repeat. Put a backslash before it for the character itself.`,
        );
      case '\\':
        return this.#escape();
      default:
        return this.#literal(character.codePointAt(0) ?? 0);
    }
  }

  #group(): PatternNode {
    const flags = this.#match(FLAGS);
    if (flags === undefined && this.#match(GROUP_NAME) === undefined && this.#source.charAt(this.#position) === '?') {
      this.#fail('Look-around and groups of other kinds are not supported; $not and $and can often say the same.');
    }
    const outer = this.#flags;
    if (flags !== undefined) {
      this.#setFlags(flags[1] ?? '', true);
      this.#setFlags(flags[2] ?? '', false);
      // Without a group of their own, flags apply up to the end of the enclosing group.
      if (flags[3] === ')') return { kind: 'sequence', parts: [] };
    }
    const node = this.#choice();
    this.#flags = outer;
    if (!this.#take(')')) this.#fail('It has a ( without its ).');
    return node;
  }

  #setFlags(letters: string, isOn: boolean): void {
    for (const letter of letters) {
      if (letter === 'i') this.#flags = { ...this.#flags, ignoreCase: isOn };
      else if (letter === 'm') this.#flags = { ...this.#flags, multiline: isOn };
      else this.#flags = { ...this.#flags, dotAll: isOn };
    }
  }

  #escape(): PatternNode {
    const assertion = ASSERTIONS.get(this.#source.charAt(this.#position));
    if (assertion !== undefined) {
      this.#position++;
      return { kind: 'assertion', assertion };
    }
    const escaped = this.#escaped();
    return typeof escaped === 'number' ? this.#literal(escaped) : this.#character(escaped, PROPERTY_COST);
  }

  /** Reads what follows a backslash, in sets and outside of them: a set, or a character's code point. */
  #escaped(): CharacterTest | number {
    const hexadecimal = this.#match(HEXADECIMAL);
    if (hexadecimal !== undefined) return this.#codePoint(hexadecimal[1] ?? hexadecimal[2] ?? hexadecimal[3] ?? '');
    const found = this.#match(PROPERTY);
    if (found !== undefined) return this.#property(found);
    const character = this.#next();
    const set = ESCAPED_SETS.get(character);
    if (set !== undefined) return set;
    const control = CONTROLS.get(character);
    if (control !== undefined) return control;
    if (/[A-Za-z1-9]/.test(character)) this.#fail(`\\${character} is not supported.`);
    return character.codePointAt(0) ?? this.#fail('It ends with a backslash. Write two for the character itself.');
  }

  #codePoint(digits: string): number {
    const code = Number.parseInt(digits, 16);
    return code <= 0x10ffff ? code : this.#fail(`There is no character ${digits}.`);
  }

  #property([whole = '', caret, name, letter]: readonly string[]): CharacterTest {
    const test =
      this.#room.property(this.#source, name ?? letter ?? '') ?? this.#fail(`There is no property \\${whole}.`);
    return whole.startsWith('P') === (caret === '^') ? test : not(test);
  }

  #set(): PatternNode {
    const isNegated = this.#take('^');
    const tests: CharacterTest[] = [];
    for (let isFirst = true; isFirst || !this.#take(']'); isFirst = false) {
      if (this.#position >= this.#source.length) this.#fail('It has a [ without its ].');
      const first = this.#setItem();
      if (typeof first !== 'number') tests.push(first);
      else tests.push(this.#rangeFrom(first));
    }
    const { test, cost } = this.#character(union(tests), PROPERTY_COST * tests.length);
    return { kind: 'character', test: isNegated ? not(test) : test, cost };
  }

  #rangeFrom(first: number): CharacterTest {
    if (this.#source.charAt(this.#position) !== '-' || this.#source.charAt(this.#position + 1) === ']') {
      return range(first, first);
    }
    this.#position++;
    const last = this.#setItem();
    if (typeof last !== 'number' || last < first) return this.#fail('A range in [] has its ends in the wrong order.');
    return range(first, last);
  }

  #setItem(): CharacterTest | number {
    const named = this.#match(NAMED);
    if (named !== undefined) {
      const test = NAMED_SETS.get(named[2] ?? '') ?? this.#fail(`There is no set ${named[0]}.`);
      return named[1] === '^' ? not(test) : test;
    }
    const character = this.#next();
    if (character !== '\\') return character.codePointAt(0) ?? 0;
    // In a set `\b` is a backspace.
    return this.#take('b') ? 0x08 : this.#escaped();
  }

  #literal(code: number): PatternNode {
    return this.#character(range(code, code), 1);
  }

  #character(test: CharacterTest, cost: number): CharacterNode {
    if (!this.#flags.ignoreCase) return { kind: 'character', test, cost };
    return { kind: 'character', test: ignoringCase(test), cost: CASES_COST * cost };
  }

  /** The next character, which may be a surrogate pair; empty at the end. */
  #next(): string {
    const code = this.#source.codePointAt(this.#position);
    const character = code === undefined ? '' : String.fromCodePoint(code);
    this.#position += character.length;
    return character;
  }

  #take(character: string): boolean {
    if (this.#source.charAt(this.#position) !== character) return false;
    this.#position++;
    return true;
  }

  /** Matches a sticky expression here, and continues after it. */
  #match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#position;
    const found = expression.exec(this.#source) ?? undefined;
    if (found !== undefined) this.#position = expression.lastIndex;
    return found;
  }

  #fail(why: string): never {
    throw badArgument('$regex', this.#source, why);
  }
}
