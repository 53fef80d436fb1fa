/**
 * The patterns of `$regex`: the syntax that PCRE and JavaScript have in common, and PCRE's `(?i)`, without look-around, back
 * references and possessive quantifiers. Anyone may send a pattern, some patterns take JavaScript's `RegExp` exponential
 * time, and such a match can't be interrupted. So patterns are matched here, in time proportional to the length of the text
 * times that of the pattern.
 */
import type { Check } from '../effort.ts';
import { LiteralCheck } from './literal-check.ts';
import { parsePatternTree } from './pattern-parser.ts';
import { compilePattern, ProgramCheck } from './pattern-program.ts';
import type { PatternRoom } from './pattern-room.ts';

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
