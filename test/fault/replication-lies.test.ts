/**
 * Sources and targets that answer something else than they were asked. Of each lie a table says what must come of it: all is copied, or some is
 * refused by name and the rest is copied, or the run fails with a reason and the checkpoint stays.
 */
import { describe, expect, test } from 'vitest';
import { sidesOf, useFlakyEnds } from '../support/replication/flaky-ends.ts';
import { type Fault, failure } from '../support/replication/flaky-peer.ts';
import {
  all,
  asCouchDB3,
  attachment,
  bulkGetWith,
  fillWithAllKinds,
  LONG,
  lying,
  openRevsWith,
  RawText,
} from '../support/replication/lying-peer.ts';
import { askJson, begin, must, pick, treesOf } from '../unit/replication/support.ts';

const ends = useFlakyEnds();

type Refused = readonly (readonly [id: string, rev: string, error: string])[];
/** All is copied but for what is refused; or the run fails with such a reason. */
type Outcome = { readonly refused: Refused } | { readonly fails: RegExp };
type Case = readonly [lie: string, fault: Fault, outcome: Outcome];

const COPIED: Outcome = { refused: [] };
const noBulkGet: Fault = ({ path }) => (path.includes('/_bulk_get') ? failure(404) : undefined);
const noRelated: Fault = ({ request }) =>
  request.headers.get('accept') === 'multipart/related' ? failure(406) : undefined;
/** The ways in which documents are read: `_bulk_get` as JSON, one by one as JSON, and attachments in one answer or one by one. */
const WAYS: readonly (readonly [string, readonly Fault[]])[] = [
  ['_bulk_get and multipart/related', []],
  ['_bulk_get and single attachments', [noRelated]],
  ['open_revs and multipart/related', [noBulkGet]],
  ['open_revs and single attachments', [noBulkGet, noRelated]],
];

const quick = { retriesPerRequest: 2, checkpointIntervalMs: 5_000 };

async function expectOutcome(direction: 'pull' | 'push', fault: Fault, outcome: Outcome): Promise<void> {
  const { source, target, replication } = sidesOf(ends, direction);
  await fillWithAllKinds(source);
  ends.peer.fault = fault;
  const attempt = begin(ends.host, { ...replication, ...quick });
  if ('fails' in outcome) {
    await expect(attempt.result).rejects.toMatchObject({ reason: expect.stringMatching(outcome.fails) });
    ends.peer.fault = undefined;
    expect(await recordedSeq(target)).toBe(0);
    return;
  }
  const { history } = await attempt.result;
  ends.peer.fault = undefined;
  expect(attempt.refused.map(({ id, rev, error }) => [id, rev, error]).sort()).toEqual([...outcome.refused].sort());
  expect(pick(history[0], 'doc_write_failures')).toBe(outcome.refused.length);
  expect(await leavesOf(target)).toEqual(without(await leavesOf(source), outcome.refused));
  expect(await recordedSeq(target)).toBeGreaterThan(0);
}

async function recordedSeq(core: typeof ends.core): Promise<number> {
  const [status, checkpoint] = await askJson(core, 'GET /db/_local/checkpoint');
  return status === 404 ? 0 : Number(pick(checkpoint, 'source_last_seq'));
}

/** Each leaf with its ancestry, content and attachments, by id and revision. */
async function leavesOf(core: typeof ends.core): Promise<Record<string, string>> {
  const leaves: Record<string, string> = {};
  for (const [id, tree] of Object.entries(await treesOf(core, 'db'))) {
    for (const leaf of Object(tree).leaves) leaves[`${id} ${Object(JSON.parse(leaf)).ok._rev}`] = leaf;
  }
  return leaves;
}

function without(leaves: Record<string, string>, refused: Refused): Record<string, string> {
  const names = new Set(refused.map(([id, rev]) => `${id} ${rev}`));
  return Object.fromEntries(Object.entries(leaves).filter(([name]) => !names.has(name)));
}

describe('replication from a source like CouchDB 3', () => {
  test.each(WAYS)('copies losing leaves and tombstones with long attachments (%s)', async (_, faults) => {
    await expectOutcome('pull', all(...faults, asCouchDB3(ends.peer.core)), COPIED);
  });

  test('copies the newer revision of a losing leaf that was replaced meanwhile', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    await fillWithAllKinds(source);
    let isEdited = false;
    ends.peer.fault = all(async ({ path }) => {
      if (isEdited || !path.includes('rev=2-a') || !path.startsWith('/db/long?')) return undefined;
      isEdited = true;
      const next = { _id: 'long', _rev: '3-c', _revisions: { start: 3, ids: ['c', 'a', 'root'] } };
      const big = attachment(LONG, 'newer');
      await must(source, 'POST /db/_bulk_docs', { new_edits: false, docs: [{ ...next, _attachments: { big } }] });
      await must(source, 'POST /db/_compact', undefined, { headers: { 'content-type': 'application/json' } });
      await expect.poll(() => must(source, 'GET /db'), { timeout: 30_000 }).toMatchObject({ compact_running: false });
      return failure(404);
    }, asCouchDB3(source));
    const attempt = begin(ends.host, { ...replication, ...quick });
    await attempt.result;
    expect(isEdited).toBe(true);
    expect(attempt.refused).toEqual([]);
    expect(Object.keys(await leavesOf(target))).toContain('long 3-c');
  });
});

describe.each(WAYS)('replication from a source that is read by %s and lies', (_, faults) => {
  const DOCUMENTS = /^(POST .*_bulk_get|GET .*open_revs)/;
  const change = (id: string, make: (document: object) => unknown): Fault =>
    lying(DOCUMENTS, (told) => {
      const changed = (document: object, of: string) => (of === id ? make(document) : document);
      return Array.isArray(told) ? openRevsWith(told, changed) : bulkGetWith(told, changed);
    });
  const other =
    (name: string, seed: string, length = LONG): Fault =>
    async ({ request, path, answer }) => {
      const isSingle = new RegExp(`/db/${name}/big`).test(path);
      const isWhole = path.startsWith(`/db/${name}?`) && request.headers.get('accept') === 'multipart/related';
      if (!isSingle && !isWhole) return undefined;
      const response = await answer();
      if (response.status >= 300) return response;
      if (isSingle) return new Response(Buffer.alloc(length, seed));
      const bytes = Buffer.from(await response.arrayBuffer());
      const at = bytes.indexOf(Buffer.alloc(1_000, 'gone'));
      Buffer.alloc(LONG, seed).copy(bytes, at, 0, Math.min(LONG, bytes.length - at - 100));
      return new Response(bytes, { headers: response.headers });
    };
  const unreadable: Outcome = { refused: [['plain', '2-p', 'bad_answer']] };
  const badShort: Outcome = { refused: [['short', '2-s', 'bad_answer']] };
  const cases: readonly Case[] = [
    ['answers another document', change('plain', (one) => ({ ...one, _id: 'evil' })), unreadable],
    ['answers a design document', change('plain', (one) => ({ ...one, _id: '_design/evil' })), unreadable],
    [
      'answers another revision',
      change('plain', (one) => ({ ...one, _rev: '9-e', _revisions: undefined })),
      unreadable,
    ],
    [
      'answers a revision that descends from another one',
      change('plain', (one) => ({ ...one, _rev: '3-e', _revisions: { start: 3, ids: ['e', 'q', 'root'] } })),
      unreadable,
    ],
    [
      'says two things of the revision',
      change('plain', (one) => ({ ...one, _revisions: { start: 9, ids: ['e', 'p', 'root'] } })),
      unreadable,
    ],
    ['has an ancestry of no known form', change('plain', (one) => ({ ...one, _revisions: 7 })), unreadable],
    ['answers a number', change('plain', () => 5), unreadable],
    ['answers nothing', change('plain', () => null), unreadable],
    ['answers a list', change('plain', () => []), unreadable],
    [
      'has a stub with an absurd length',
      change('short', (one) => ({ ...one, _attachments: { note: { stub: true, length: 1e18, revpos: 2 } } })),
      badShort,
    ],
    ['has attachments that are none', change('short', (one) => ({ ...one, _attachments: { note: 5 } })), badShort],
    [
      'has a stub whose digest is another one',
      change('short', (one) => {
        const { note } = Object(one)._attachments;
        return { ...one, _attachments: { note: { ...note, digest: 'md5-AAAAAAAAAAAAAAAAAAAAAA==' } } };
      }),
      badShort,
    ],
    [
      'sends other bytes of the same length',
      other('gone', 'evil'),
      // The list of documents has them as they are.
      COPIED,
    ],
    [
      'sends other bytes in each form',
      all(
        change('gone', (one) => {
          const { big } = Object(one)._attachments;
          const data = Buffer.alloc(LONG, 'evil').toString('base64');
          return { ...one, _attachments: { big: big.data === undefined ? big : { ...big, data } } };
        }),
        other('gone', 'evil'),
      ),
      { refused: [['gone', '2-d', 'bad_answer']] },
    ],
    [
      'leaves a document out of each list',
      lying(DOCUMENTS, (told) => {
        if (Array.isArray(told)) return told.filter((one) => Object(one).ok?._id !== 'plain');
        return { results: Object(told).results.filter(({ id }: { id: string }) => id !== 'plain') };
      }),
      unreadable,
    ],
    [
      'has results of no known form',
      lying(DOCUMENTS, (told) => {
        if (Array.isArray(told)) return told.map((one) => (Object(one).ok?._id === 'plain' ? { what: 1 } : one));
        const { results } = Object(told);
        return { results: results.map((one: { id: string }) => (one.id === 'plain' ? { id: 'plain', docs: 7 } : one)) };
      }),
      unreadable,
    ],
    [
      'has a scalar in its list',
      lying(DOCUMENTS, (told) => {
        if (Array.isArray(told)) return told.map((one) => (Object(one).ok?._id === 'plain' ? 7 : one));
        return { results: [null, ...Object(told).results] };
      }),
      unreadable,
    ],
    [
      'adds documents that nobody asked for',
      lying(DOCUMENTS, (told) => {
        const evil = { ok: { _id: 'evil', _rev: '1-e' } };
        if (Array.isArray(told)) return [...told, evil];
        return { results: [...Object(told).results, { id: 'evil', docs: [evil] }, { id: 'plain2', docs: [evil] }] };
      }),
      COPIED,
    ],
    [
      'says of revisions that nobody asked for that they are missing',
      lying(DOCUMENTS, (told) => {
        if (Array.isArray(told)) return [{ missing: '7-x' }, { missing: 5 }, ...told];
        const error = { id: 'plain', rev: '7-x', error: 'not_found', reason: 'missing' };
        return { results: [{ id: 'plain', docs: [{ error }] }, ...Object(told).results] };
      }),
      COPIED,
    ],
    ['answers with a page', lying(DOCUMENTS, () => new RawText('<html>Log in</html>')), { fails: /unusable response/ }],
    [
      'answers a list that ends too early',
      lying(DOCUMENTS, () => new RawText('{"results":[')),
      { fails: /unusable response/ },
    ],
  ];

  test.each(cases)('%s', async (_lie, fault, outcome) => {
    await expectOutcome('pull', all(...faults, fault), outcome);
  });

  test('refuses a document that has an id twice', async () => {
    const fault = lying(
      DOCUMENTS,
      (told) => new RawText(JSON.stringify(told).replaceAll('"_id":"plain",', '"_id":"plain","\\u005fid":"evil",')),
    );
    await expectOutcome('pull', all(...faults, fault), unreadable);
  });
});

describe('replication from a source with false changes', () => {
  const rows = (make: (rows: readonly object[]) => readonly unknown[]): Fault =>
    lying(/^GET .*_changes/, (told) => ({ ...Object(told), results: make(Object(told).results) }));
  const added = (id: unknown, ...revs: unknown[]): Fault =>
    rows((some) => [{ id, seq: 1, changes: revs.map((rev) => ({ rev })) }, ...some]);
  const cases: readonly Case[] = [
    ['name an id with half of a character', added('\ud800', '1-a'), { refused: [['\ufffd', '1-a', 'bad_change']] }],
    ['name an empty id', added('', '1-a'), { refused: [['', '1-a', 'bad_change']] }],
    ['name a local document', added('_local/x', '1-a'), { refused: [['_local/x', '1-a', 'bad_change']] }],
    ['name an id that no document here may have', added('_foo', '1-a'), { refused: [['_foo', '1-a', 'bad_request']] }],
    [
      'name an id that is too long',
      added('x'.repeat(9_000), '1-a'),
      { refused: [[`${'x'.repeat(8_192)}…`, '1-a', 'bad_request']] },
    ],
    [
      'name revisions that are none',
      added('odd', 'abc', '1-', '0-1', '-1-a', 7, '1-\ud800', `${'9'.repeat(30)}-a`),
      {
        refused: ['abc', '1-', '0-1', '-1-a', '', '1-\ufffd', `${'9'.repeat(30)}-a`].map((rev) => [
          'odd',
          rev,
          'bad_change',
        ]),
      },
    ],
    ['name no revision', added('odd'), { refused: [['odd', '', 'bad_change']] }],
    [
      'name a revision that no server can store',
      added('odd', `1-${'a'.repeat(5_000)}`),
      { refused: [['odd', `1-${'a'.repeat(5_000)}`, 'bad_request']] },
    ],
    ['name a document that is not there', added('nobody', '1-a'), { refused: [['nobody', '1-a', 'not_found']] }],
    ['name a document that can be named by no address', added('..', '1-a'), { refused: [['..', '1-a', 'not_found']] }],
    ['have a row of no known form', rows((some) => [{ what: 1 }, ...some]), { fails: /unusable response/ }],
    [
      'have a sequence that is none',
      lying(/_changes/, (told) => ({ ...Object(told), last_seq: { a: 1 } })),
      { fails: /unusable response/ },
    ],
    [
      'have a sequence with half of a character',
      lying(/_changes/, (told) => ({ ...Object(told), last_seq: '7-\ud800' })),
      { fails: /unusable response/ },
    ],
    ['are no list', lying(/_changes/, () => ({ results: 5 })), { fails: /unusable response/ }],
  ];

  test.each(cases)('%s', async (_lie, fault, outcome) => {
    await expectOutcome('pull', fault, outcome);
  });

  test('copies only the requested ids if the source lists more', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    await fillWithAllKinds(source);
    ends.peer.fault = lying(/_changes/, (told) => {
      const evil = { id: 'plain2', seq: 1, changes: [{ rev: '2-p' }] };
      return { ...Object(told), results: [evil, ...Object(told).results] };
    });
    const attempt = begin(ends.host, { ...replication, selection: { kind: 'ids', ids: ['plain'] } });
    await attempt.result;
    expect(Object.keys(await leavesOf(target))).toEqual(['plain 2-p']);
    expect(attempt.figures()).toMatchObject({ missingChecked: 1 });
  });

  test("stores nothing in a checkpoint that can't be stored, however often it runs", async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    await fillWithAllKinds(source);
    ends.peer.fault = added('\ud800'.repeat(20_000), '1-a');
    const { history } = await begin(ends.host, replication).result;
    expect(history).toMatchObject([{ doc_write_failures: 1 }]);
    ends.peer.fault = undefined;
    const checkpoint = Object(await must(source, 'GET /db/_local/checkpoint'));
    const [entry] = checkpoint.history;
    const foreign = {
      ...entry,
      session_id: entry.session_id,
      refused: [{ id: 5, rev: null, error: {}, reason: [[]] }],
      start_time: 9,
    };
    await must(source, 'PUT /db/_local/checkpoint', { ...checkpoint, history: [foreign] });
    await must(source, 'PUT /db/one-more', {});
    expect((await begin(ends.host, replication).result).history).toMatchObject([{ docs_written: 1 }, {}]);
    await must(target, 'GET /db/one-more');
  });
});

describe('replication to a target that lies', () => {
  const DIFF = /^POST .*_revs_diff/;
  const WRITES = /^POST .*_bulk_docs/;
  const cases: readonly Case[] = [
    [
      'names an id that it was not offered',
      lying(DIFF, (told) => ({
        ...Object(told),
        secret: { missing: ['1-s'] },
        '_local/checkpoint': { missing: ['0-1'] },
      })),
      COPIED,
    ],
    [
      'names revisions that it was not offered',
      lying(DIFF, (told) => ({ ...Object(told), plain: { missing: ['2-p', '1-root', '7-x'] } })),
      COPIED,
    ],
    [
      'names other revisions only',
      lying(DIFF, (told) => ({ ...Object(told), plain: { missing: ['1-root'] } })),
      COPIED,
    ],
    ['names numbers', lying(DIFF, (told) => ({ ...Object(told), plain: { missing: [2, null] } })), COPIED],
    [
      'answers for one document with something unknown',
      lying(DIFF, (told) => ({ ...Object(told), plain: 'x:_local/y' })),
      COPIED,
    ],
    ['answers for one document with true', lying(DIFF, (told) => ({ ...Object(told), plain: true })), COPIED],
    [
      'names ancestors that are none',
      lying(DIFF, (told) => {
        const { short } = Object(told);
        return { ...Object(told), short: { ...short, possible_ancestors: [5, 'x', '2-s', '9-z', { a: 1 }] } };
      }),
      COPIED,
    ],
    [
      'says that it has an attachment that it has not',
      lying(DIFF, (told) => {
        const entries = Object.entries(Object(told)).map(([id, one]) => [
          id,
          { ...Object(one), possible_ancestors: ['2-s', '2-d', '2-a', '2-t'] },
        ]);
        return Object.fromEntries(entries);
      }),
      COPIED,
    ],
    ['answers a list', lying(DIFF, () => []), { fails: /unusable response/ }],
    ['answers with a page', lying(DIFF, () => new RawText('<html></html>')), { fails: /unusable response/ }],
    [
      'refuses one document without naming it',
      async ({ request, answer, path }) => {
        if (!WRITES.test(`${request.method} ${path}`)) return undefined;
        const text = await bodyOf(request);
        const response = await answer();
        return text.includes('"_id":"plain",') ? Response.json([{ error: 'forbidden', reason: 'no' }]) : response;
      },
      // It stays where it is: that is the lie.
      { refused: [['plain', '2-p', 'forbidden']] },
    ],
    [
      'refuses something that was not sent',
      async ({ request, answer, path }) => {
        if (!WRITES.test(`${request.method} ${path}`)) return undefined;
        const isBatch = (await bodyOf(request)).split('"_id"').length > 2;
        const response = await answer();
        return isBatch ? Response.json([{ id: 'evil', rev: '1-e', error: 'forbidden', reason: 'no' }]) : response;
      },
      COPIED,
    ],
    ['answers writes with an object', lying(WRITES, () => ({ ok: true })), { fails: /not a list/ }],
    ['answers writes with a page', lying(WRITES, () => new RawText('<html></html>')), { fails: /unusable response/ }],
  ];

  test.each(cases)('%s', async (lie, fault, outcome) => {
    if (lie !== 'refuses one document without naming it') return expectOutcome('push', fault, outcome);
    const { source, replication } = sidesOf(ends, 'push');
    await fillWithAllKinds(source);
    ends.peer.fault = fault;
    const attempt = begin(ends.host, { ...replication, ...quick });
    await attempt.result;
    expect(attempt.refused).toMatchObject([{ id: 'plain', rev: '2-p', error: 'forbidden', reason: 'no' }]);
  });

  test('sends nothing outside of the selection if the target asks for it', async () => {
    const { source, target, replication } = sidesOf(ends, 'push');
    await fillWithAllKinds(source);
    ends.peer.fault = lying(DIFF, (told) => ({
      ...Object(told),
      plain2: { missing: ['2-p'] },
      forked: { missing: ['1-root'] },
    }));
    await begin(ends.host, { ...replication, selection: { kind: 'ids', ids: ['plain'] } }).result;
    expect(Object.keys(await leavesOf(target))).toEqual(['plain 2-p']);
  });

  test('sends no newer revision outside of the selector if the source changes before the target answers', async () => {
    const { source, target, replication } = sidesOf(ends, 'push');
    const [open, leaves] = [
      { _id: 'open', isOpen: true },
      { _id: 'leaves', isOpen: true },
    ];
    await must(source, 'POST /db/_bulk_docs', { docs: [open, leaves] });
    const [, before] = await askJson(source, 'GET /db/leaves');
    let isFirst = true;
    ends.peer.fault = async ({ path }) => {
      if (!isFirst || !path.includes('_revs_diff')) return undefined;
      isFirst = false;
      await must(source, 'PUT /db/leaves', { ...Object(before), isOpen: false, secret: 'of the source' });
      return undefined;
    };
    const selection = { kind: 'selector', selector: '{"isOpen":true}' } as const;
    await begin(ends.host, { ...replication, selection }).result;
    expect(Object.keys(await leavesOf(target)).map((name) => name.split(' ')[0])).toEqual(['open']);
  });

  test('reports a document for which the target answers with another revision', async () => {
    const { source, replication } = sidesOf(ends, 'push');
    await fillWithAllKinds(source);
    ends.peer.fault = all(
      lying(/^PUT .*\/gone/, (told) => ({ ...Object(told), rev: '1-other' })),
      lying(WRITES, () => [{ ok: true, id: 'plain', rev: '1-other' }]),
    );
    const attempt = begin(ends.host, { ...replication, ...quick });
    await attempt.result;
    const refused = attempt.refused.map(({ id, error }) => [id, error]);
    expect(refused).toContainEqual(['gone', 'bad_answer']);
    expect(refused).toContainEqual(['plain', 'bad_answer']);
  });

  test("copies all other documents if the target can't take an id or a revision", async () => {
    const { source, target, replication } = sidesOf(ends, 'push');
    await fillWithAllKinds(source);
    ends.peer.fault = async ({ request, path }) => {
      const isAtFault = path.includes('_revs_diff') && /"plain"|"2-b"/.test(await bodyOf(request));
      return isAtFault ? failure(400) : undefined;
    };
    const attempt = begin(ends.host, { ...replication, ...quick });
    await attempt.result;
    const refused = attempt.refused.map(({ id, rev }) => `${id} ${rev}`).sort();
    expect(refused).toEqual(['forked 2-b', 'long 2-b', 'plain 2-p']);
    expect(Object.keys(await leavesOf(target)).sort()).toEqual(
      Object.keys(await leavesOf(source))
        .filter((name) => !refused.includes(name))
        .sort(),
    );
  });

  test('fails if the target refuses all _revs_diff requests', async () => {
    await expectOutcome('push', ({ path }) => (path.includes('_revs_diff') ? failure(400) : undefined), {
      fails: /answered POST .*_revs_diff with 400/,
    });
  });

  test("stores a checkpoint without details if the target can't store them", async () => {
    const { source, target, replication } = sidesOf(ends, 'push');
    await fillWithAllKinds(source);
    ends.peer.fault = async ({ request, path }) => {
      const body = await bodyOf(request);
      if (path.includes('_bulk_docs') && body.includes('"_id":"plain",')) {
        return Response.json([{ id: 'plain', error: 'forbidden', reason: 'no' }]);
      }
      const isDetailed = request.method === 'PUT' && path.includes('_local') && body.includes('"refused"');
      return isDetailed ? failure(413) : undefined;
    };
    expect((await begin(ends.host, replication).result).history).toMatchObject([{ doc_write_failures: 1 }]);
    expect(await recordedSeq(target)).toBeGreaterThan(0);
    expect((await begin(ends.host, replication).result).no_changes).toBe(true);
  });
});

async function bodyOf(request: Request): Promise<string> {
  const { body, headers } = request.clone();
  const isZipped = headers.get('content-encoding') === 'gzip';
  return new Response(isZipped ? body?.pipeThrough(new DecompressionStream('gzip')) : body).text();
}
