import { describe, expect, test } from 'vitest';
import { anchorsOf, linksOf, namesIn, rowsOf, samplesOf } from './pages.ts';

describe('the anchors of a page', () => {
  test('are its headings as GitHub names them', () => {
    const page = '# One, two\n## `_bulk_docs` & co.\n### [A link](x.md) here\n# Österreich – 1\n# Closed #\n';
    expect([...anchorsOf(page)]).toEqual(['one-two', '_bulk_docs--co', 'a-link-here', 'österreich--1', 'closed']);
  });

  test('of repeated headings have a number', () => {
    expect([...anchorsOf('# A\n## A\n# A\n')]).toEqual(['a', 'a-1', 'a-2']);
  });

  test('include those that the page sets itself, except in code blocks', () => {
    expect([...anchorsOf('<a id="here"></a>\n\n```sh\n# not a heading\n```\n')]).toEqual(['here']);
  });
});

describe('the links of a page', () => {
  test('include those of texts, images and definitions', () => {
    expect(linksOf('[a](b.md#c), ![d](e.png "f")\n[g]: h.md\n[![i](j.webp)](k.md)')).toEqual([
      'b.md#c',
      'e.png',
      'j.webp',
      'k.md',
      'h.md',
    ]);
  });

  test('include those of elements', () => {
    const page = '<a href="a.md"><picture><source media="x" srcset="b.webp"><img alt="c" src="d.webp"></picture></a>';
    expect(linksOf(page)).toEqual(['a.md', 'b.webp', 'd.webp']);
  });

  test('exclude what is in code', () => {
    expect(linksOf('`[a](b)`\n```ts\nx[0](c);\n```\n')).toEqual([]);
  });
});

test('samplesOf() returns the code blocks of one language', () => {
  expect(samplesOf('```ts\na;\n```\n```sh\nb\n```\n```ts\nc;\n```\n', 'ts')).toEqual(['a;\n', 'c;\n']);
});

test('rowsOf() returns the rows of the tables with a title', () => {
  const page = '| a | b |\n|---|---|\n| `x`, `y` | 1 |\n| `z` | |\n\n| other |\n|---|\n| no |\n';
  expect(rowsOf(page, 'a')).toEqual([
    ['`x`, `y`', '1'],
    ['`z`', ''],
  ]);
  expect(namesIn('`x`, `y`')).toEqual(['x', 'y']);
});
