/**
 * The patterns of `$regex`: the syntax that PCRE and JavaScript have in common, and PCRE's `(?i)`, without look-around, back
 * references and possessive quantifiers. Anyone may send a pattern, some patterns take JavaScript's `RegExp` exponential
 * time, and such a match can't be interrupted. So patterns are matched here, in time proportional to the length of the text
 * times that of the pattern.
 */

import { must } from '../../../base/shared/assert.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import type { Check, Effort } from '../effort.ts';
import { parsePatternTree } from './pattern-parser.ts';
import { compilePattern, ProgramCheck } from './pattern-program.ts';
import type { PatternRoom } from './selector-room.ts';

/** Characters that an engine compares in the time of a step, and those that the check in steps compares. */
const COMPARISONS_A_STEP = 128;
const CHARACTERS_A_STEP = 8;
/** Characters between two checks of the effort. */
const STEP_LENGTH = 32_768;

/** Whether a value is a string that contains another one. */
class LiteralCheck implements Check {
  readonly #literal: string;
  /** For each place in the literal, how many characters before it are also at its beginning, as far as that was needed. */
  #borders: Int32Array | undefined;

  constructor(literal: string) {
    this.#literal = literal;
  }

  now(value: unknown, effort: Effort): boolean {
    effort.take(1);
    if (typeof value !== 'string') return false;
    // In the worst case, an engine's time is the product of both lengths.
    effort.take(Math.floor((value.length * this.#literal.length) / COMPARISONS_A_STEP));
    return value.includes(this.#literal);
  }

  /** Uses the Knuth-Morris-Pratt algorithm. */
  *inSteps(value: unknown, effort: Effort): CooperativeTask<boolean> {
    if (typeof value !== 'string') return false;
    const literal = this.#literal;
    this.#borders ??= bordersOf(literal);
    let matched = 0;
    for (let at = 0; at < value.length; at++) {
      const code = value.charCodeAt(at);
      while (matched > 0 && literal.charCodeAt(matched) !== code) matched = must(this.#borders[matched]);
      if (literal.charCodeAt(matched) === code) matched++;
      if (matched === literal.length) return true;
      if (at % STEP_LENGTH > 0) continue;
      effort.count(1 + STEP_LENGTH / CHARACTERS_A_STEP);
      if (effort.isRestDue()) yield;
    }
    return literal === '';
  }
}

function bordersOf(literal: string): Int32Array {
  const borders = new Int32Array(literal.length + 1);
  let length = 0;
  for (let at = 1; at < literal.length; at++) {
    const code = literal.charCodeAt(at);
    while (length > 0 && literal.charCodeAt(length) !== code) length = must(borders[length]);
    if (literal.charCodeAt(length) === code) length++;
    borders[at + 1] = length;
  }
  return borders;
}

/** Whether a value is a string with a part that matches. */
export type Pattern = Check;

/** A pattern without special characters. */
const LITERAL = /^[^\\^$.|?*+()[\]{}]*$/;

/** Parses a pattern. `room`: what is left for the patterns of the selector. Fails with 400 `bad_arg`. */
export function parsePattern(source: string, room: PatternRoom): Pattern {
  room.addSource(source);
  if (LITERAL.test(source)) return new LiteralCheck(source);
  return new ProgramCheck(compilePattern(source, parsePatternTree(source, room), room));
}
