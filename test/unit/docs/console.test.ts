import { describe, expect, test } from 'vitest';
import { matchesAnswer, readSteps } from './console-blocks.ts';
import { PageSession } from './page-session.ts';
import { readInterface, readPage, readPages } from './pages.ts';

/** The pages of the interface are gone through on one server, one after the other. */
const theInterface = {
  path: 'docs/http/',
  text: readInterface()
    .map(({ text }) => text)
    .join('\n'),
};
const pages = [...readPages().filter(({ path }) => !path.startsWith('docs/http/')), theInterface]
  .map(({ path, text }) => ({ path, steps: readSteps(text) }))
  .filter(({ steps }) => steps.length > 0);

describe('the console examples of a page work as shown', () => {
  test.each(pages)('in $path', { timeout: 300_000 }, async ({ steps }) => {
    const session = await PageSession.open();
    try {
      if (steps[0]?.command !== 'npm start') await session.start();
      for (const { command, answer } of steps) {
        const actual = await session.run(command);
        if (!matchesAnswer(actual, answer)) expect({ command, answer: actual }).toEqual({ command, answer });
      }
    } finally {
      await session.close();
    }
  });
});

test('the tutorial shows every kind of request that it promises', () => {
  const steps = readSteps(readPage('docs/tutorial.md').text);
  expect(steps.length).toBeGreaterThan(20);
  for (const part of ['PUT', 'POST', 'DELETE', 'COPY', '_bulk_docs', '_compact', 'settee import', 'settee export']) {
    expect(steps.map(({ command }) => command).join('\n')).toContain(part);
  }
  expect(steps.filter(({ command }) => command === 'npm start')).toHaveLength(2);
});

describe('matchesAnswer', () => {
  test('takes … for any text within a line, and everything else literally', () => {
    expect(matchesAnswer('{"a":"x","b":[1]}', '{"a":"…","b":[1]}')).toBe(true);
    expect(matchesAnswer('{"a":"x","b":[2]}', '{"a":"…","b":[1]}')).toBe(false);
    expect(matchesAnswer('a\nb', '…')).toBe(false);
    expect(matchesAnswer('a.b', 'a.b')).toBe(true);
    expect(matchesAnswer('a_b', 'a.b')).toBe(false);
  });
});
