/** Limits for the patterns of one selector together, since they are all compiled before the first of them is used. */
import { badArgument } from '../query-error.ts';
import { type CharacterTest, property } from './pattern-characters.ts';

/** Characters of one pattern, and of all of them. */
const LONGEST = 10_000;
const ALL_CHARACTERS = 100_000;
/** Instructions of one pattern, which bounds counted repetitions, and of all of them. */
const MOST_INSTRUCTIONS = 2_000;
const ALL_INSTRUCTIONS = 20_000;
/** Steps that a pattern takes for a character of the text. */
const MOST_STEPS = 500_000;
/** Different properties such as `\p{L}`: an engine takes up to a millisecond to make one of them ready. */
const MOST_PROPERTIES = 50;

export class PatternRoom {
  #characters = 0;
  #instructions = 0;
  /** Properties by name, shared by all patterns. */
  readonly #properties = new Map<string, CharacterTest>();

  /** To be called before a pattern is parsed. Fails with 400 `bad_arg`, as all methods do. */
  addSource(source: string): void {
    if (source.length > LONGEST) throw badArgument('$regex', source, `The longest pattern has ${LONGEST} characters.`);
    this.#characters += source.length;
    if (this.#characters <= ALL_CHARACTERS) return;
    throw badArgument('$regex', source, `All patterns of a selector have ${ALL_CHARACTERS} characters at most.`);
  }

  /** To be called before an instruction is added to the pattern's `count` instructions. `steps`: of all of them, including the new one. */
  addInstruction(source: string, count: number, steps: number): void {
    this.#instructions += 1;
    if (count >= MOST_INSTRUCTIONS || steps > MOST_STEPS) {
      throw badArgument('$regex', source, 'Written out with its repetitions it is too long.');
    }
    if (this.#instructions <= ALL_INSTRUCTIONS) return;
    throw badArgument(
      '$regex',
      source,
      'Written out with their repetitions the patterns of the selector are too long.',
    );
  }

  /** Returns undefined if there is no such property. */
  property(source: string, name: string): CharacterTest | undefined {
    const known = this.#properties.get(name);
    if (known !== undefined) return known;
    if (this.#properties.size === MOST_PROPERTIES) {
      throw badArgument('$regex', source, `A selector has ${MOST_PROPERTIES} different properties \\p{…} at most.`);
    }
    const test = property(name);
    if (test !== undefined) this.#properties.set(name, test);
    return test;
  }
}
