/**
 * Limits of one selector (docs/limits.md#selectors-and-indexes), so that reading it and choosing a plan for it take no more than a turn.
 * Its patterns have limits together, since all of them are compiled before the first one is used.
 */
import { badArgument, queryError } from '../query-error.ts';
import { type CharacterTest, property } from './pattern-characters.ts';

const MAX_CONDITIONS = 10_000;
/** Values in all of its lists. */
const MAX_VALUES = 500_000;

export class SelectorRoom {
  readonly patterns = new PatternRoom();
  #conditions = 0;
  #values = 0;

  /** Fails with 400 `invalid_selector`. */
  addCondition(): void {
    this.#conditions += 1;
    if (this.#conditions <= MAX_CONDITIONS) return;
    throw queryError(
      'invalid_selector',
      `A selector has ${MAX_CONDITIONS} conditions at most. Give values of one field as the list of $in, or send several queries.`,
    );
  }

  /** Fails with 400 `invalid_selector`. */
  addValues(count: number): void {
    this.#values += count;
    if (this.#values <= MAX_VALUES) return;
    throw queryError(
      'invalid_selector',
      `The lists of a selector have ${MAX_VALUES} values at most. Send several queries, each with a part of them.`,
    );
  }
}

/** Characters of one pattern, and of all of them. */
const MAX_LENGTH = 10_000;
const ALL_CHARACTERS = 100_000;
/** Instructions of one pattern, which bounds counted repetitions, and of all of them. */
const MAX_INSTRUCTIONS = 2_000;
const ALL_INSTRUCTIONS = 20_000;
/** Steps that a pattern takes for a character of the text. */
const MAX_STEPS = 500_000;
/** Different properties such as `\p{L}`: an engine takes up to a millisecond to make one of them ready. */
const MAX_PROPERTIES = 50;

/** Limits for all patterns of a selector. */
export class PatternRoom {
  #characters = 0;
  #instructions = 0;
  /** Properties by name, shared by all patterns. */
  readonly #properties = new Map<string, CharacterTest>();

  /** To be called before a pattern is parsed. Fails with 400 `bad_arg`, as all methods do. */
  addSource(source: string): void {
    if (source.length > MAX_LENGTH)
      throw badArgument('$regex', source, `A pattern has ${MAX_LENGTH} characters at most.`);
    this.#characters += source.length;
    if (this.#characters <= ALL_CHARACTERS) return;
    throw badArgument('$regex', source, `All patterns of a selector have ${ALL_CHARACTERS} characters at most.`);
  }

  /** To be called before an instruction is added to the pattern's `count` instructions. `steps`: of all of them, including the new one. */
  addInstruction(source: string, count: number, steps: number): void {
    this.#instructions += 1;
    if (count >= MAX_INSTRUCTIONS || steps > MAX_STEPS) {
      throw badArgument(
        '$regex',
        source,
        'It is too long when its repetitions are written out. Repeat less, or shorten it.',
      );
    }
    if (this.#instructions <= ALL_INSTRUCTIONS) return;
    throw badArgument(
      '$regex',
      source,
      'The patterns of the selector are too long when their repetitions are written out. Repeat less, or use fewer patterns.',
    );
  }

  /** Returns undefined if there is no such property. */
  property(source: string, name: string): CharacterTest | undefined {
    const known = this.#properties.get(name);
    if (known !== undefined) return known;
    if (this.#properties.size === MAX_PROPERTIES) {
      throw badArgument('$regex', source, `A selector has ${MAX_PROPERTIES} different properties \\p{…} at most.`);
    }
    const test = property(name);
    if (test !== undefined) this.#properties.set(name, test);
    return test;
  }
}
