import { describe, expect, test } from 'vitest';
import { readPages } from './pages.ts';

/** Words that take a second reading, or have a plainer one, each with what to write instead. */
const words: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\banew\b/i, 'again'],
  [/\bwhoever\b/i, 'anyone who'],
  [/\bnobody\b/i, 'no one'],
  [/\bbut for\b/i, 'except'],
  [/\boff-line\b/i, 'offline'],
  [/\bas ever\b/i, 'as usual'],
  [/\bto be had\b/i, 'available'],
  [/\bcomes? to (its|their) end\b/i, 'ends'],
  [/\bthere and then\b/i, 'immediately'],
  [/\bheretofore|thereof|whereof|hereby\b/i, 'a plain word'],
];

function unplainWords(text: string): string[] {
  const prose = text.replace(/^(```+)[\s\S]*?^\1/gm, '').replace(/(`+)[^`].*?\1|\]\([^)]*\)/g, '');
  return words.flatMap(([pattern, instead]) => {
    const found = pattern.exec(prose);
    return found === null ? [] : [`"${found[0]}": write "${instead}"`];
  });
}

describe('the documentation is in plain words', () => {
  test.each(readPages())('$path', ({ text }) => {
    expect(unplainWords(text)).toEqual([]);
  });
});

test('words are found in prose, and ignored in code', () => {
  expect(unplainWords('Nobody waits, `but for` the first.\n```\nanew\n```\n')).toEqual(['"Nobody": write "no one"']);
});
