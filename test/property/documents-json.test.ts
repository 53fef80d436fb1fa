import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { minify } from '../../src/base/json/white-space.ts';
import { atOnce } from '../../src/base/shared/turn.ts';
import { readBulkInSteps } from '../../src/database/documents/incoming/read-bulk.ts';
import { readDocument } from '../../src/database/documents/incoming/read-document.ts';
import { metaText, writeDocument } from '../../src/database/documents/outgoing.ts';
import { parseRevId } from '../../src/database/documents/revisions/revisions.ts';

type Member = readonly [name: string, value: unknown];

/** How a client writes JSON: its white space, and whether it escapes every character of a string. */
interface Style {
  readonly spaces: readonly string[];
  readonly escapes: boolean;
}

const style: fc.Arbitrary<Style> = fc.record({
  spaces: fc.array(fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n  '), { minLength: 1, maxLength: 7 }),
  escapes: fc.boolean(),
});

const name = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('a', '1', '', '"', '\\', 'constructor', 'a _', '}', ']'),
);
const bodyMember: fc.Arbitrary<Member> = fc.tuple(
  fc.oneof(
    name.filter((text) => !text.startsWith('_')),
    fc.constantFrom('_replication_id', '_replication_state'),
  ),
  fc.jsonValue({ depthSize: 'small' }),
);
const reservedMember: fc.Arbitrary<Member> = fc.oneof(
  fc.tuple(fc.constant('_id'), fc.constantFrom('a', 'b"', '_local/x')),
  fc.tuple(fc.constant('_rev'), fc.constantFrom('1-a', '2-b')),
  fc.tuple(fc.constant('_deleted'), fc.boolean()),
  fc.tuple(fc.constant('_attachments'), fc.constantFrom({}, { '}': { stub: true } })),
  fc.tuple(fc.constant('_conflicts'), fc.jsonValue({ depthSize: 'small' })),
);
const members = fc.array(fc.oneof(bodyMember, reservedMember), { maxLength: 12 });

function writeJson(value: unknown, { spaces, escapes }: Style): string {
  let turn = 0;
  const space = () => spaces[turn++ % spaces.length] ?? '';
  const text = (content: string) =>
    escapes
      ? `"${content.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`
      : JSON.stringify(content);
  const member = ([key, item]: Member) => [space(), text(key), space(), ':', write(item)].join('');
  const write = (item: unknown): string => {
    if (item instanceof Members) return `${space()}{${item.members.map(member).join(',') || space()}}${space()}`;
    if (Array.isArray(item)) return `${space()}[${item.map(write).join(',') || space()}]${space()}`;
    if (typeof item === 'object' && item !== null) return write(new Members(Object.entries(item)));
    return space() + (typeof item === 'string' ? text(item) : JSON.stringify(item)) + space();
  };
  return write(value);
}

/** An object as text has it: in order, and perhaps with a name twice. */
class Members {
  readonly members: readonly Member[];
  constructor(list: readonly Member[]) {
    this.members = list;
  }
}

const isBody = ([key]: Member) => !key.startsWith('_') || key.startsWith('_replication');

/** What JSON.parse makes of a list of members: the last value in the first one's place. */
const distinct = (list: readonly Member[]) => [...new Map(list)];

const compact = (escapes: boolean): Style => ({ spaces: [''], escapes });

describe('a document that comes in', () => {
  test('has the body that was sent, without reserved members and white space', () => {
    fc.assert(
      fc.property(members, style, (list, how) => {
        const { body } = readDocument(writeJson(new Members(list), how));
        expect(body).toBe(writeJson(new Members(distinct(list).filter(isBody)), compact(how.escapes)));
      }),
    );
  });

  test('has a body that parses to what was sent', () => {
    fc.assert(
      fc.property(members, style, (list, how) => {
        const text = writeJson(new Members(list), how);
        const sent = Object.entries(JSON.parse(text)).filter(isBody);
        expect(Object.entries(JSON.parse(readDocument(text).body))).toEqual(sent);
      }),
    );
  });

  test('is the same alone and in a bulk request', () => {
    fc.assert(
      fc.property(fc.array(members, { maxLength: 5 }), style, (lists, how) => {
        const documents = lists.map((list) => new Members(list));
        const bulk = new Members([
          ['before', { docs: [1] }],
          ['docs', documents],
          ['new_edits', false],
        ]);
        expect(atOnce(readBulkInSteps(writeJson(bulk, how)))).toEqual({
          documents: documents.map((document) => readDocument(writeJson(document, how))),
          newEdits: false,
          allOrNothing: false,
        });
      }),
    );
  });

  test('is read back as it was written', () => {
    const outgoing = fc.record({
      id: fc.string({ unit: 'grapheme', minLength: 1 }).filter((id) => !id.startsWith('_')),
      hash: fc.stringMatching(/^[ -~]{1,12}$/),
      deleted: fc.boolean(),
      list: fc.array(bodyMember, { maxLength: 8 }),
      older: fc.option(fc.array(fc.stringMatching(/^[ -~]{1,5}$/), { maxLength: 3 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(outgoing, ({ id, hash, deleted, list, older }) => {
        const body = writeJson(new Members(distinct(list)), compact(false));
        const revisions = older === undefined ? undefined : { start: 9, ids: [hash, ...older] };
        const rev = parseRevId(`9-${hash}`);
        expect(
          readDocument(writeDocument({ id, rev, deleted, body, members: metaText({ revisions, conflicts: [rev] }) })),
        ).toEqual({
          id,
          rev,
          deleted,
          revisions,
          attachments: [],
          body,
        });
      }),
    );
  });
});

describe('minifying', () => {
  test('undoes what a style adds', () => {
    fc.assert(
      fc.property(fc.jsonValue(), style, (value, how) => {
        expect(minify(writeJson(value, how))).toBe(writeJson(value, compact(how.escapes)));
      }),
    );
  });

  test('is idempotent', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(0, 1, '\t'), (value, indent) => {
        const text = minify(JSON.stringify(value, null, indent));
        expect(text).toBe(JSON.stringify(value));
        expect(minify(text)).toBe(text);
      }),
    );
  });
});
