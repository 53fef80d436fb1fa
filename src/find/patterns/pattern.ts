/**
 * The patterns of `$regex`: the syntax that PCRE and JavaScript have in common, and PCRE's `(?i)`, without look-around, back
 * references and possessive quantifiers. Anyone may send a pattern, some patterns take JavaScript's `RegExp` exponential
 * time, and a match of it can't be interrupted. So patterns are matched here, in time proportional to the length of the text
 * times that of the pattern.
 */
import { parsePatternTree } from './pattern-parser.ts';
import { compilePattern, runProgram } from './pattern-program.ts';

export interface Pattern {
  /** Whether some part of the text matches. Fails with 400 `bad_arg` where that would take too long. */
  isIn(text: string): boolean;
}

/** A pattern without special characters. */
const LITERAL = /^[^\\^$.|?*+()[\]{}]*$/;

/** Fails with 400 `bad_arg`. */
export function parsePattern(source: string): Pattern {
  if (LITERAL.test(source)) return { isIn: (text) => text.includes(source) };
  const program = compilePattern(source, parsePatternTree(source));
  return { isIn: (text) => runProgram(program, text) };
}
