/**
 * The patterns of `$regex`: what PCRE and JavaScript have in common, and PCRE's `(?i)`, but for look-around, back
 * references and possessive quantifiers. They come from strangers and can't be stopped half-way by the engine's own
 * matcher, which needs time without bounds for some of them. So they are matched here, in time proportional to the text's
 * length times the pattern's.
 */
import { parsePatternTree } from './pattern-parser.ts';
import { compilePattern, runProgram } from './pattern-program.ts';

export interface Pattern {
  /** Whether some part of the text matches. Fails with 400 `bad_arg` where that would take too long. */
  isIn(text: string): boolean;
}

/** Without any of the characters that mean something else than themselves. */
const LITERAL = /^[^\\^$.|?*+()[\]{}]*$/;

/** Fails with 400 `bad_arg`. */
export function parsePattern(source: string): Pattern {
  if (LITERAL.test(source)) return { isIn: (text) => text.includes(source) };
  const program = compilePattern(source, parsePatternTree(source));
  return { isIn: (text) => runProgram(program, text) };
}
