import { describe, expect, test } from 'vitest';
import { sidesOf } from '../support/replication/flaky-ends.ts';
import type { Fault } from '../support/replication/flaky-peer.ts';
import { all, attachment, bulkGetWith, LONG, lying, openRevsWith, RawText } from '../support/replication/lying-peer.ts';
import { begin, must } from '../unit/replication/support.ts';
import { type Case, COPIED, type Outcome, quick, useLyingEnds, WAYS } from './lying-ends.ts';

const { ends, expectOutcome } = useLyingEnds();

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

  test('sends content for which the target has other content, though the source says that it is older', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    const before = { _id: 'moved', _rev: '1-root', _attachments: { note: { ...attachment(50, 'old'), revpos: 1 } } };
    for (const core of [source, target]) await must(core, 'POST /db/_bulk_docs', { new_edits: false, docs: [before] });
    const _revisions = { start: 2, ids: ['b', 'root'] };
    const after = { ...before, _rev: '2-b', _revisions, _attachments: { note: attachment(60, 'new') } };
    await must(source, 'POST /db/_bulk_docs', { new_edits: false, docs: [after] });
    const older = change('moved', (one) => {
      const { note } = Object(one)._attachments;
      return { ...one, _attachments: { note: { ...note, revpos: 1 } } };
    });
    ends.peer.fault = all(...faults, older);
    const attempt = begin(ends.host, { ...replication, ...quick });
    await attempt.result;
    expect(attempt.refused).toEqual([]);
    expect(await must(target, 'GET /db/moved?attachments=true')).toMatchObject({
      _rev: '2-b',
      _attachments: { note: { data: Buffer.from('new'.repeat(20)).toString('base64') } },
    });
  });

  test('refuses a document that has an id twice', async () => {
    const fault = lying(
      DOCUMENTS,
      (told) => new RawText(JSON.stringify(told).replaceAll('"_id":"plain",', '"_id":"plain","\\u005fid":"evil",')),
    );
    await expectOutcome('pull', all(...faults, fault), unreadable);
  });
});
