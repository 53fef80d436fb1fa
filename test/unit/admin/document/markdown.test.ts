import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { looksLikeMarkdown, parseMarkdown } from '../../../../src/admin/document/markdown/blocks.ts';
import { targetOf } from '../../../../src/admin/document/markdown/targets.ts';

const none = () => false;

/** Blocks and what is in them, short: `h1(…)`, `p(…)`, `*…*`, … */
function sketch(text: string): string {
  const short = (value: unknown): string => {
    if (Array.isArray(value)) return value.map(short).join('');
    const node = Object(value);
    switch (node.kind) {
      case 'text':
        return node.text;
      case 'code':
        return `<code ${node.text}>`;
      case 'break':
      case 'rule':
        return `<${node.kind}>`;
      case 'heading':
        return `<h${node.level} ${short(node.content)}>`;
      case 'quote':
        return `<quote ${short(node.blocks)}>`;
      case 'list':
        return `<${node.start === undefined ? 'ul' : `ol ${node.start}`} ${node.items.map((item: unknown) => `<li ${short(item)}>`).join('')}>`;
      case 'link':
        return `<link ${node.target} ${short(node.content)}>`;
      case 'image':
        return `<image ${node.target} ${node.alt}>`;
      default:
        return `<${node.kind} ${short(node.content)}>`;
    }
  };
  return short(parseMarkdown(text));
}

describe('Markdown in a field', () => {
  test.each([
    ['# Title #\ntext', '<h1 Title><paragraph text>'],
    ['one\ntwo\n\nthree', '<paragraph one\ntwo><paragraph three>'],
    ['a **b *c* d** _e_ `f *g*`', '<paragraph a <strong b <emphasis c> d> <emphasis e> <code f *g*>>'],
    ['snake_case_word 2 * 3 * 4', '<paragraph snake_case_word 2 * 3 * 4>'],
    [
      '- a\n- b\n  - c\n1. d',
      '<ul <li <paragraph a>><li <paragraph b><ul <li <paragraph c>>>>><ol 1 <li <paragraph d>>>',
    ],
    ['> a\n> b', '<quote <paragraph a\nb>>'],
    ['```js\n<b> & *c*\n```', '<code <b> & *c*>'],
    ['a  \nb\n\n---', '<paragraph a<break>b><rule>'],
    ['[a *b*](emma) ![c](d.png)', '<paragraph <link emma a <emphasis b>> <image d.png c>>'],
    [
      'see https://a.org/x_(y), or <http://b.org>.',
      '<paragraph see <link https://a.org/x_(y https://a.org/x_(y>), or <link http://b.org http://b.org>.>',
    ],
    ['\\*not\\* \\<b>', '<paragraph *not* <b>>'],
    ['[a [b](c)](d)', '<paragraph [a <link c b>](d)>'],
    ['[![a](b.png) [c]](d)', '<paragraph <link d <image b.png a> [c]>>'],
    ['[http://a.b](c)', '<paragraph <link c http://a.b>>'],
  ])('%j is %s', (text, expected) => {
    expect(sketch(text)).toBe(expected);
  });

  test('is recognised by its signs, and plain sentences are not', () => {
    expect(
      ['# A', '- a\n- b', '1. a\n2. b', 'x **y** z', '[a](b)', '```\nx', '> quoted'].every(looksLikeMarkdown),
    ).toBe(true);
    expect(
      ['', 'A sentence. Another one - with a dash.', '#1', '2 * 3 * 4', 'a_b_c', '- only one'].some(looksLikeMarkdown),
    ).toBe(false);
  });

  test('has no HTML: what looks like it is text', () => {
    expect(sketch('<img src=x onerror=alert(1)>')).toBe('<paragraph <img src=x onerror=alert(1)>>');
    expect(sketch('<script>alert(1)</script>')).toBe('<paragraph <script>alert(1)</script>>');
  });

  test('takes little time for texts that are made to take much', () => {
    const attacks = [
      '[',
      '*a ',
      'a`b',
      '> ',
      '- ',
      '[a',
      '![x](',
      '_a',
      '**',
      '<https://',
      '(http://a',
      '\\',
      '#',
      '`',
    ];
    const nodes = attacks.map((attack) => JSON.stringify(parseMarkdown(attack.repeat(10_000))).length);
    expect(nodes.every((length) => length < 10_000_000)).toBe(true);
  });

  test('keeps every letter of a text', () => {
    const piece = fc.constantFrom(
      'a',
      'b c',
      '*',
      '**',
      '_',
      '` ',
      '[',
      ']',
      '(',
      ')',
      '!',
      '\n',
      '\n\n',
      '# ',
      '- ',
      '> ',
      '1. ',
      '  ',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const letters = pieces.join('').match(/[abc]/g)?.length ?? 0;
        const kept = JSON.stringify(parseMarkdown(pieces.join('')), (key, value) =>
          key === 'kind' ? undefined : value,
        );
        expect(kept.replaceAll(/"[a-z]+":/g, '').match(/[abc]/g)?.length ?? 0).toBe(letters);
      }),
    );
  });
});

describe('a link in Markdown', () => {
  test.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java%73cript:alert(1)',
    'javascript%3Aalert(1)',
    'java\tscript:alert(1)',
    '\u0001javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:http://x',
    '//evil.example',
    '\\\\evil.example',
    '/_session',
    '#/db/x',
    '?x',
    '',
    '%',
    'http://',
    'mailto:a@b.c',
  ])('to %j is not followed', (target) => {
    expect(targetOf(target, none)).toBeUndefined();
  });

  test('leads to the web, and to documents', () => {
    expect(targetOf('HTTPS://A.org/x y', none)).toEqual({ kind: 'web', href: 'https://a.org/x%20y' });
    expect(targetOf('emma', none)).toEqual({ kind: 'document', id: 'emma' });
    expect(targetOf('a%2Fb', none)).toEqual({ kind: 'document', id: 'a/b' });
    expect(targetOf('user:1', none)).toBeUndefined();
    expect(targetOf('user:1', (id) => id === 'user:1')).toEqual({ kind: 'document', id: 'user:1' });
  });
});
