import { describe, expect, test } from 'vitest';
import { sidesOf } from '../support/replication/flaky-ends.ts';
import { failure } from '../support/replication/flaky-peer.ts';
import { all, fillWithAllKinds, lying, RawText } from '../support/replication/lying-peer.ts';
import { askJson, begin, must } from '../unit/replication/support.ts';
import { type Case, COPIED, leavesOf, quick, recordedSeq, useLyingEnds } from './lying-ends.ts';

const { ends, expectOutcome } = useLyingEnds();

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
