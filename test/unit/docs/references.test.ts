import { describe, expect, test } from 'vitest';
import { anchorsOf, readPages } from './pages.ts';
import { brokenReferences, readReferringSources } from './references.ts';

const anchors = new Map(readPages().map(({ path, text }) => [path, anchorsOf(text)]));

test('comments and texts of the sources refer to existing pages and headings', () => {
  const sources = readReferringSources();
  expect(sources.map(({ path }) => path)).toContain('src/core/core.ts');
  expect(sources.flatMap((source) => brokenReferences(source, anchors))).toEqual([]);
});

describe('a reference in the sources', () => {
  const known = new Map([
    ['docs/limits.md', new Set(['durability'])],
    ['src/README.md', new Set<string>()],
  ]);
  const check = (text: string) => brokenReferences({ path: 'src/a.ts', text }, known);

  test('to a missing page or heading is found', () => {
    expect(check('/** See docs/limit.md, and docs/limits.md#durable. */ fail("see README.md");')).toEqual([
      'src/a.ts: docs/limit.md',
      'src/a.ts: docs/limits.md#durable',
      'src/a.ts: README.md',
    ]);
  });

  test('to an existing one is accepted, also at the end of a sentence', () => {
    expect(check('// As in docs/limits.md#durability. More is in docs/limits.md, and in src/README.md.')).toEqual([]);
  });

  test('is not mistaken for the end of a longer path', () => {
    expect(check("join(folder, '../docs/limit.md'); 'package/README.md'")).toEqual([]);
  });
});
