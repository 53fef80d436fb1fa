/** Sources that ignore what requests say, and databases that answer an error with status 200, or in another form than was requested. */
import { describe, expect, test } from 'vitest';
import { createFetch } from '../../src/http/fetch-adapter.ts';
import { sidesOf } from '../support/replication/flaky-ends.ts';
import { cutOff, type Fault } from '../support/replication/flaky-peer.ts';
import { all, bulkGetWith, fillWithAllKinds, lying } from '../support/replication/lying-peer.ts';
import { askJson, begin, must } from '../unit/replication/support.ts';
import {
  type Case,
  COPIED,
  leavesOf,
  type Outcome,
  quick,
  type Refused,
  recordedSeq,
  useLyingEnds,
  WAYS,
} from './lying-ends.ts';

const { ends, expectOutcome } = useLyingEnds();

const asked =
  (pattern: RegExp, answer: () => Response): Fault =>
  ({ request, path }) =>
    pattern.test(`${request.method} ${decodeURIComponent(path)}`) ? answer() : undefined;

const ERROR = { error: 'internal_server_error', reason: 'The request timed out.' };
const errorOf = (pattern: RegExp): Fault => asked(pattern, () => Response.json(ERROR));

const INFO = /^GET \/db(\?|$)/;
const BULK_GET = /^POST .*_bulk_get/;
const OPEN_REVS = /^GET .*open_revs/;
/** Of a document with its attachments behind it, and of one attachment. */
const RELATED: Fault = ({ request }) =>
  request.headers.get('accept') === 'multipart/related' ? Response.json(ERROR) : undefined;
const ATTACHMENT = /^GET \/db\/[^/?_]+\/[^/?]+\?/;

const PUT = /^PUT \/db\/[^_]/;

/** All that is written with `PUT`. */
function allLong(error: string): Outcome {
  return {
    refused: [
      ['gone', '2-d', error],
      ['long', '2-a', error],
      ['long', '2-b', error],
      ['long-text', '2-a', error],
    ],
  };
}

/** Carries requests out as if these parameters were not in them. */
function ignoring(...names: readonly string[]): Fault {
  return ({ request }) => {
    const url = new URL(request.url);
    if (request.method !== 'GET' || !names.some((name) => url.searchParams.has(name))) return undefined;
    for (const name of names) url.searchParams.delete(name);
    return createFetch(ends.peer.core.handle)(new Request(url, { headers: request.headers }));
  };
}

/** Whichever revision is requested, `_bulk_get` returns the winner. */
const winnersInBulk: Fault = async (request) => {
  const query = request.path.includes('attachments=true') ? 'revs=true&attachments=true' : 'revs=true';
  const winners = new Map<string, unknown>();
  for (const id of ['forked', 'long']) winners.set(id, await must(ends.peer.core, `GET /db/${id}?${query}`));
  return lying(BULK_GET, (told) => bulkGetWith(told, (one, id) => winners.get(id) ?? one))(request);
};

describe.each(WAYS)('replication from a source that is read by %s and ignores', (way, faults) => {
  const isBulk = way.startsWith('_bulk_get');

  test('the revision in requests copies all leaves', async () => {
    await expectOutcome('pull', all(...faults, winnersInBulk, ignoring('rev')), COPIED);
  });

  test('the revisions in requests refuses by name those that it does not return', async () => {
    const losers: Refused = [
      ['forked', '2-a', 'bad_answer'],
      ['long', '2-a', 'bad_answer'],
    ];
    // Without lists, no document can be read but the tombstone, which is not found.
    const winners: Refused = [
      ['forked', '2-b', 'bad_answer'],
      ['gone', '2-d', 'not_found'],
      ['long', '2-b', 'bad_answer'],
      ['long-text', '2-a', 'bad_answer'],
      ['plain', '2-p', 'bad_answer'],
      ['plain2', '2-p', 'bad_answer'],
      ['short', '2-s', 'bad_answer'],
      ['text', '2-t', 'bad_answer'],
    ];
    const outcome: Outcome = { refused: isBulk ? losers : [...losers, ...winners] };
    await expectOutcome('pull', all(...faults, winnersInBulk, ignoring('open_revs', 'rev')), outcome);
  });

  test.each([
    ['copies the one that was listed', false],
    ['refuses the one that was listed if it is gone', true],
  ])('that a newer revision is wanted %s, and the newer one in the next run', async (_, isCompacted) => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    await must(source, 'POST /db/_bulk_docs', { docs: [{ _id: 'kept' }, { _id: 'edited', n: 1 }] });
    const [, first] = await askJson(source, 'GET /db/edited');
    const listed = Object(first)._rev;
    let isEdited = false;
    const edit: Fault = async ({ path }) => {
      if (isEdited || !/_bulk_get|open_revs/.test(path)) return undefined;
      isEdited = true;
      await must(source, 'PUT /db/edited', { ...Object(first), n: 2 });
      if (isCompacted) await must(source, 'POST /db/_compact');
      return undefined;
    };
    if (isCompacted) await must(source, 'PUT /db/_revs_limit', 1);
    const withoutLatest: Fault = async ({ request, path }) => {
      if (!path.includes('latest=true')) return undefined;
      const url = new URL(request.url);
      url.searchParams.delete('latest');
      const { method, headers } = request;
      const body = method === 'GET' ? null : await request.arrayBuffer();
      return createFetch(source.handle)(new Request(url, { method, headers, body }));
    };
    ends.peer.fault = async (one) => {
      await edit(one);
      return all(...faults, withoutLatest)(one);
    };
    const attempt = begin(ends.host, { ...replication, ...quick });
    await attempt.result;
    expect(attempt.refused.map(({ id, rev, error }) => [id, rev, error])).toEqual(
      isCompacted ? [['edited', listed, 'not_found']] : [],
    );
    await begin(ends.host, replication).result;
    expect(await leavesOf(target)).toEqual(await leavesOf(source));
  });
});

describe('replication from a source that answers an error with status 200', () => {
  const cases: readonly Case[] = [
    ['about itself', errorOf(INFO), { fails: /unusable response/ }],
    ['as its changes', errorOf(/_changes/), { fails: /unusable response/ }],
    ['to _bulk_get', errorOf(BULK_GET), COPIED],
    ['to open_revs, which nobody needs', errorOf(OPEN_REVS), COPIED],
    ['to both', errorOf(/_bulk_get|open_revs/), { fails: /unusable response/ }],
    ['in place of a document with its attachments', RELATED, COPIED],
    ['in place of attachments, together and alone', all(RELATED, errorOf(ATTACHMENT)), COPIED],
    ['to a checkpoint that is read', errorOf(/^GET .*_local/), COPIED],
    ['to a checkpoint that is written', errorOf(/^PUT .*_local/), COPIED],
    ['to a commit', errorOf(/_ensure_full_commit/), { fails: /does not say that everything is durable/ }],
  ];

  test.each(cases)('%s', async (_lie, fault, outcome) => {
    await expectOutcome('pull', fault, outcome);
  });
});

describe('replication to a target that answers an error with status 200', () => {
  const cases: readonly Case[] = [
    ['about itself', errorOf(INFO), { fails: /unusable response/ }],
    ['to _revs_diff', errorOf(/_revs_diff/), { fails: /does not say which revisions are missing/ }],
    ['to _bulk_docs', errorOf(/_bulk_docs/), { fails: /not a list/ }],
    ['to documents with their attachments', errorOf(PUT), allLong('internal_server_error')],
    ['to a commit', errorOf(/_ensure_full_commit/), { fails: /does not say that everything is durable/ }],
    ['to a checkpoint that is read', errorOf(/^GET .*_local/), COPIED],
  ];

  test.each(cases)('%s', async (_lie, fault, outcome) => {
    await expectOutcome('push', fault, outcome);
  });

  test('to a checkpoint that is written compares everything again, as often as it runs', async () => {
    const { source, target, replication } = sidesOf(ends, 'push');
    await fillWithAllKinds(source);
    ends.peer.fault = errorOf(/^PUT .*_local/);
    expect((await begin(ends.host, replication).result).history).toMatchObject([{ docs_written: 10 }]);
    await must(target, 'DELETE /db');
    await must(target, 'PUT /db');
    expect((await begin(ends.host, replication).result).history).toMatchObject([{ docs_written: 10 }]);
    expect(await leavesOf(target)).toEqual(await leavesOf(source));
    expect(await recordedSeq(target)).toBe(0);
  });
});

describe('replication to a target that does not say that it wrote', () => {
  const notSaid = allLong('bad_answer');
  const cases: readonly Case[] = [
    ['answers a document with its attachments with {}', asked(PUT, () => Response.json({})), notSaid],
    ['answers a document with its attachments with ok: false', asked(PUT, () => Response.json({ ok: false })), notSaid],
    [
      'answers a document with its attachments with half of an object',
      asked(PUT, () => new Response('{"ok":tr')),
      notSaid,
    ],
    ['answers writes with a list of nothing', lying(/_bulk_docs/, () => [null]), { fails: /a row is not an object/ }],
    ['answers a commit with {}', asked(/_ensure_full_commit/, () => Response.json({})), { fails: /durable/ }],
    ['answers a commit with half of an object', asked(/_commit/, () => new Response('{"ok":tr')), { fails: /JSON/ }],
    [
      'answers _revs_diff with {"ok":true}',
      asked(/_revs_diff/, () => Response.json({ ok: true })),
      { fails: /does not say which revisions are missing/ },
    ],
    [
      'ends each answer to _revs_diff early',
      async (one) => (one.path.includes('_revs_diff') ? cutOff(await one.answer(), 'end') : undefined),
      { fails: /not complete JSON/ },
    ],
    [
      'ends each answer to writes early',
      async ({ path }) => (path.includes('_bulk_docs') ? new Response('[{"id":"pl') : undefined),
      { fails: /not complete JSON/ },
    ],
  ];

  test.each(cases)('%s', async (_lie, fault, outcome) => {
    await expectOutcome('push', fault, outcome);
  });

  test('names the document of a row with ok: false', async () => {
    const { source, replication } = sidesOf(ends, 'push');
    await fillWithAllKinds(source);
    ends.peer.fault = lying(/_bulk_docs/, () => [{ ok: false, id: 'plain', rev: '2-p' }]);
    const attempt = begin(ends.host, { ...replication, ...quick });
    await attempt.result;
    expect(attempt.refused).toContainEqual({
      id: 'plain',
      rev: '2-p',
      error: 'bad_answer',
      reason: 'the target does not say that it wrote it',
    });
  });
});

describe('replication from a source that answers in a form that was not requested', () => {
  const mixed = () =>
    new Response('--x\r\ncontent-type: application/json\r\n\r\n{"_id":"plain","_rev":"2-p","n":1}\r\n--x--', {
      headers: { 'content-type': 'multipart/mixed; boundary=x' },
    });
  const cases: readonly Case[] = [
    ['multipart/mixed to _bulk_get', asked(BULK_GET, mixed), COPIED],
    ['multipart/mixed to each list of documents', asked(/_bulk_get|open_revs/, mixed), { fails: /unusable response/ }],
    [
      'multipart/mixed in place of a document with its attachments',
      ({ request }) => (request.headers.get('accept') === 'multipart/related' ? mixed() : undefined),
      COPIED,
    ],
    [
      'another digest in front of attachments',
      async ({ request, answer }) => {
        if (request.headers.get('accept') !== 'multipart/related') return undefined;
        const response = await answer();
        const text = Buffer.from(await response.arrayBuffer()).toString('latin1');
        const changed = text.replace(/"digest":"md5-[^"]*"/g, '"digest":"md5-AAAAAAAAAAAAAAAAAAAAAA=="');
        return new Response(Buffer.from(changed, 'latin1'), { status: response.status, headers: response.headers });
      },
      COPIED,
    ],
  ];

  test.each(cases)('%s', async (_lie, fault, outcome) => {
    await expectOutcome('pull', fault, outcome);
  });
});
