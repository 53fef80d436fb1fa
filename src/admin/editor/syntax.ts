/** Where the syntax of a function's source is wrong. */
import { javascriptLanguage } from '@codemirror/lang-javascript';

export interface SyntaxMistake {
  /** Place in the source, from 0. */
  readonly at: number;
  /** From 1. */
  readonly line: number;
}

/** A source is an expression: a function without a name is none as a statement. */
const BEFORE = 'x=';

/** Returns the first mistake; undefined if there is none. */
export function syntaxMistake(source: string): SyntaxMistake | undefined {
  let at: number | undefined;
  javascriptLanguage.parser.parse(BEFORE + source).iterate({
    enter: ({ type, from }) => {
      if (type.isError) at ??= from;
      return at === undefined;
    },
  });
  if (at === undefined) return undefined;
  const place = Math.min(Math.max(0, at - BEFORE.length), source.length);
  return { at: place, line: source.slice(0, place).split('\n').length };
}
