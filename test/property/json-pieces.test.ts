/** JSON that is parsed in pieces is what `JSON.parse` makes of the whole, for any text and wherever it is cut. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonPieces } from '../../src/browser/client/json-pieces.ts';

function parsed(pieces: readonly string[]): unknown {
  const parser = new JsonPieces();
  for (const piece of pieces) parser.add(piece);
  return parser.parse();
}

/** What is seen of a value, the order of its members and those called `__proto__` as well; or of the failure. */
function seen(work: () => unknown): string {
  try {
    const value = work();
    return JSON.stringify(value, (_, member: unknown) =>
      typeof member === 'object' && member !== null && !Array.isArray(member)
        ? { prototype: Object.getPrototypeOf(member) === Object.prototype, members: Object.entries(member) }
        : member,
    );
  } catch (error) {
    return String(error);
  }
}

function cut(text: string, places: readonly number[]): string[] {
  const cuts = places.map((place) => place % (text.length + 1)).sort((left, right) => left - right);
  return [...cuts, text.length].map((end, index) => text.slice(cuts[index - 1] ?? 0, end));
}

function expectAsWhole(pieces: readonly string[]): void {
  expect(seen(() => parsed(pieces))).toBe(seen(() => JSON.parse(pieces.join(''))));
}

const places = fc.array(fc.nat(), { maxLength: 6 });

const name = fc.oneof(
  fc.constantFrom(
    'rows',
    'docs',
    '',
    '__proto__',
    'constructor',
    '0',
    '17',
    '-1',
    '[',
    ']',
    '],',
    ',"rows":[',
    '"',
    '\\',
    '[]',
  ),
  fc.string({ maxLength: 3 }),
);
const space = fc.constantFrom('', '', '', ' ', '\r\n', '\t', '\n ');
const { value } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(
      'null',
      'true',
      '0',
      '-1.5e+10',
      '1234567890123456789',
      '""',
      '"[1,2]"',
      '"]}"',
      '"\\"]"',
      '{}',
      '[]',
    ),
    fc.string({ maxLength: 4 }).map((text) => JSON.stringify(text)),
    tie('list'),
    tie('object'),
  ),
  list: fc
    .tuple(fc.array(tie('value'), { maxLength: 6 }), space)
    .map(([values, gap]) => `[${gap}${values.join(`,${gap}`)}${gap}]`),
  object: fc
    .tuple(fc.array(fc.tuple(name, tie('value')), { maxLength: 4 }), space)
    .map(
      ([members, gap]) =>
        `{${gap}${members.map(([key, text]) => `${JSON.stringify(key)}${gap}:${text}`).join(`,${gap}`)}}${gap}`,
    ),
}));

/** Characters of JSON in any order: mostly not JSON, and nearly. */
const nearly = fc
  .array(
    fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"rows":[',
      '1',
      '0',
      '-',
      '{"a":[',
      ']}',
      'null',
      ' ',
      '\\',
      '],"b":[',
      '\u00a0',
      '\ufeff',
    ),
    {
      maxLength: 10,
    },
  )
  .map((parts) => parts.join(''));

describe('parsing in pieces agrees with parsing at once for', () => {
  test('any JSON, cut anywhere', () => {
    fc.assert(
      fc.property(value, places, (text, at) => expectAsWhole(cut(text, at))),
      { numRuns: 3000 },
    );
  });

  test('an object with a list, cut at commas, with anything before and after it', () => {
    const members = fc.array(fc.tuple(name, value), { maxLength: 3 });
    fc.assert(
      fc.property(
        members,
        name,
        fc.array(fc.oneof(value, space), { maxLength: 8 }),
        members,
        space,
        (before, key, values, behind, gap) => {
          const text = (list: readonly (readonly [string, string])[]) =>
            list.map(([one, other]) => `${JSON.stringify(one)}:${other}`);
          const head = `{${[...text(before), `${JSON.stringify(key)}:[`].join(',')}`;
          const tail = `${[`${gap}]`, ...text(behind)].join(',')}${gap}}${gap}`;
          expectAsWhole([head, ...values.map((one, index) => (index === 0 ? one : `,${one}`)), tail]);
          expectAsWhole([head + (values[0] ?? ''), ...values.slice(1).map((one) => `,${gap}${one}`), tail]);
        },
      ),
      { numRuns: 3000 },
    );
  });

  test('invalid JSON, with the same failure', () => {
    fc.assert(
      fc.property(nearly, places, (text, at) => expectAsWhole(cut(text, at))),
      { numRuns: 5000 },
    );
  });

  test('JSON with pieces lost or doubled', () => {
    fc.assert(
      fc.property(value, places, fc.nat(), (text, at, which) => {
        const pieces = cut(text, at);
        const index = which % pieces.length;
        expectAsWhole(pieces.toSpliced(index, 1));
        expectAsWhole(pieces.toSpliced(index, 0, pieces[index] ?? ''));
      }),
      { numRuns: 2000 },
    );
  });
});
