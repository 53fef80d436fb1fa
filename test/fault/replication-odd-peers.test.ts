/** Peers whose answers are meant to break something: very deep, very long, broken in the middle, never at an end. */
import { describe, expect, test } from 'vitest';
import { patient } from '../support/patience.ts';
import { sidesOf, useFlakyEnds } from '../support/replication/flaky-ends.ts';
import { type Fault, failure } from '../support/replication/flaky-peer.ts';
import {
  all,
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
const quick = { retriesPerRequest: 1 };
const DOCUMENTS = /^(POST .*_bulk_get|GET .*open_revs)/;
const DEEP = '['.repeat(200_000) + ']'.repeat(200_000);

async function pulled(fault: Fault, more: object = {}) {
  const { source, target, replication } = sidesOf(ends, 'pull');
  await fillWithAllKinds(source);
  ends.peer.fault = fault;
  const attempt = begin(ends.host, { ...replication, ...quick, ...more });
  const outcome = await attempt.result.then(
    () => 'done',
    (failed: unknown) => failed,
  );
  ends.peer.fault = undefined;
  const refused = attempt.refused.map(({ id, rev }) => `${id} ${rev}`).sort();
  return { outcome, refused, there: Object.keys(await treesOf(target, 'db')) };
}

/** The document with another text. */
const spelled = (id: string, change: (text: string) => string): Fault =>
  lying(DOCUMENTS, (told) => {
    const mark = (one: object, of: string) => (of === id ? { marked: JSON.stringify(one) } : one);
    const marked = JSON.stringify(Array.isArray(told) ? openRevsWith(told, mark) : bulkGetWith(told, mark));
    return new RawText(marked.replace(/\{"marked":("(?:[^"\\]|\\.)*")\}/g, (_, text) => change(JSON.parse(text))));
  });

describe('replicating a document', () => {
  const cases: readonly [string, Fault][] = [
    ['is very deep', spelled('plain', (text) => text.replace('{', `{"deep":${DEEP},`))],
    ['has very deep attachments', spelled('plain', (text) => text.replace('{', `{"_attachments":{"a":${DEEP}},`))],
    [
      'has a very deep attachment type',
      spelled('plain', (text) =>
        text.replace('{', `{"_attachments":{"a":{"stub":true,"length":1,"content_type":${DEEP}}},`),
      ),
    ],
    [
      'has very deep revisions',
      spelled('plain', (text) => text.replace(/"_revisions":\{.*?\}/, `"_revisions":${DEEP}`)),
    ],
    ['has brackets that do not match', spelled('plain', (text) => text.replace('{', '{"a":[},'))],
    ['has commas that nobody asked for', spelled('plain', (text) => text.replace('{', '{,,'))],
    ['has half of a character in it', spelled('plain', (text) => text.replace('{', '{"half":"\\ud800",'))],
    ['has a number beyond all doubles', spelled('plain', (text) => text.replace('{', '{"huge":1e999,'))],
    ['has a member that only a database has', spelled('plain', (text) => text.replace('{', '{"_what":1,'))],
  ];

  test.each(cases)('that %s is refused by name', async (_, fault) => {
    const { outcome, refused, there } = await pulled(fault);
    expect(outcome).toBe('done');
    expect(refused).toEqual(['plain 2-p']);
    expect(there).not.toContain('plain');
    expect(there.length).toBe(7);
  });

  const names = ['', '..', '_x', '\ud800', '__proto__', 'a\r\nb: c', '"', 'x'.repeat(50_000)];

  test.each(names.map((name) => [JSON.stringify(name).slice(0, 30), name]))(
    'with an attachment named %s copies it, or reports it as refused',
    async (_, name) => {
      const rename = (text: string) => text.replace('"big":', `${JSON.stringify(name)}:`);
      const { outcome, refused, there } = await pulled(all(spelled('gone', rename)));
      expect(outcome).toBe('done');
      expect(there.includes('gone') ? [] : ['gone 2-d']).toEqual(refused);
      expect(there.length).toBe(8 - refused.length);
    },
  );

  test('whose multipart body is invalid reads it in another way', async () => {
    const bodies = [
      '',
      '--x',
      '--x\r\n\r\n',
      '--x\r\n\r\n{"_id":',
      `--x\r\n${'a'.repeat(70_000)}`,
      '--x\r\n\r\n[]\r\n--x\r\n\r\n',
    ];
    for (const [index, body] of bodies.entries()) {
      const type = index % 2 === 0 ? 'multipart/related; boundary=x' : 'multipart/related; boundary="x"';
      const { source, target, replication } = sidesOf(ends, 'pull');
      const id = `long-${index}`;
      const big = attachment(LONG, id);
      const docs = [{ _id: id, _rev: '1-a', _attachments: { big } }];
      await must(source, 'POST /db/_bulk_docs', { new_edits: false, docs });
      ends.peer.fault = ({ request }) =>
        request.headers.get('accept') === 'multipart/related'
          ? new Response(body, { headers: { 'content-type': type } })
          : undefined;
      await begin(ends.host, { ...replication, ...quick }).result;
      expect(Object.keys(await treesOf(target, 'db'))).toContain(id);
    }
  });

  test('whose attachments are each answered with 400 reads it with inline content', async () => {
    const single: Fault = ({ path, request }) =>
      /\/db\/[^/?]+\/[^/?]+\?/.test(path) || request.headers.get('accept') === 'multipart/related'
        ? failure(400)
        : undefined;
    const { outcome, refused, there } = await pulled(single);
    expect(outcome).toBe('done');
    expect(refused).toEqual([]);
    expect(there.length).toBe(8);
  });
});

describe('replicating from a source', () => {
  test.each([
    [
      'a checkpoint of nonsense',
      '{"_id":"x","_rev":"0-1","session_id":"\\ud800","source_last_seq":9e99,"history":[null,5,[],{"session_id":{}}]}',
    ],
    [
      'a checkpoint with a sequence that is none',
      '{"_id":"x","_rev":"0-1","session_id":"a","source_last_seq":1e999,"history":[{"session_id":"a","recorded_seq":{}}]}',
    ],
  ])('with %s starts from the beginning', async (_, text) => {
    let reads = 0;
    const fault: Fault = ({ request, path }) =>
      request.method === 'GET' && path.includes('/_local/') && ++reads === 1 ? new Response(text) : undefined;
    const { outcome, there } = await pulled(fault);
    expect(outcome).toBe('done');
    expect(there.length).toBe(8);
  });

  test('with a very deep checkpoint fails with a reason', async () => {
    const fault: Fault = ({ request, path }) =>
      request.method === 'GET' && path.includes('/_local/') ? new Response(`{"history":${DEEP}}`) : undefined;
    expect((await pulled(fault)).outcome).toMatchObject({ reason: expect.stringContaining('unusable response') });
  });

  test("whose failures can't be stored in a document still reports them", async () => {
    const reason = '\ud800'.repeat(50);
    const fault: Fault = ({ path }) =>
      path.includes('_changes') ? Response.json({ error: reason, reason }, { status: 400 }) : undefined;
    const { outcome } = await pulled(fault);
    expect(outcome).toMatchObject({ code: 'replication_failed' });
    expect(/\p{Surrogate}/u.test(String(pick(outcome, 'reason')))).toBe(false);
  });

  test('that asks for a pause of many years retries within a day', async () => {
    const headers = { 'retry-after': '9'.repeat(400) };
    const { outcome } = await pulled(({ path }) => (path.includes('_changes') ? failure(503, headers) : undefined));
    expect(outcome).toMatchObject({ isRetryable: true, retryAfterMs: 86_400_000 });
  });

  test('whose continuous feed lists an invalid document id copies everything else', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    await fillWithAllKinds(source);
    ends.peer.fault = ({ path }) => {
      if (!path.includes('feed=continuous')) return undefined;
      const lines = [
        '{"id":"\\ud800","seq":20,"changes":[{"rev":"1-a"}]}',
        '{"id":"odd","seq":21,"changes":[{"rev":7}]}',
      ];
      return new Response(
        `${lines.join('\n')}\n{"id":"plain2","seq":22,"changes":[{"rev":"2-p"}]}\n{"last_seq":10,"pending":0}\n`,
      );
    };
    const running = begin(ends.host, { ...replication, continuous: true });
    await running.idle();
    await expect.poll(() => running.refused.length, patient).toBeGreaterThan(1);
    expect(running.refused.slice(0, 2)).toMatchObject([{ id: '\ufffd' }, { id: 'odd', rev: '' }]);
    await running.stop();
    expect(Object.keys(await treesOf(target, 'db')).length).toBe(8);
  });

  test('that answers each request with the same object fails with a reason', async () => {
    const { outcome } = await pulled(() => Response.json({ ok: true }));
    expect(outcome).toMatchObject({ name: 'ReplicationError', reason: expect.stringContaining('unusable response') });
  });
});

describe('replicating to a target', () => {
  test('that accepts no documents fails', async () => {
    const { source, target, replication } = sidesOf(ends, 'push');
    await fillWithAllKinds(source);
    ends.peer.fault = ({ path }) => (path.includes('_bulk_docs') ? failure(400) : undefined);
    await expect(begin(ends.host, { ...replication, ...quick }).result).rejects.toMatchObject({
      reason: expect.stringContaining('accepts no documents at all'),
    });
    ends.peer.fault = undefined;
    expect((await askJson(target, 'GET /db/_local/checkpoint'))[0]).toBe(404);
  });

  test('that answers multipart bodies with 400 sends attachments inline', async () => {
    const { source, target, replication } = sidesOf(ends, 'push');
    await fillWithAllKinds(source);
    ends.peer.fault = ({ request, path }) =>
      request.method === 'PUT' && !path.includes('_local') ? failure(400) : undefined;
    const attempt = begin(ends.host, { ...replication, ...quick });
    await attempt.result;
    expect(attempt.refused).toEqual([]);
    expect(await treesOf(target, 'db')).toEqual(await treesOf(source, 'db'));
  });
});

test("replicating a document on which a selector takes too long, and which the source can't filter, reports it as refused", async () => {
  const { source, target, replication } = sidesOf(ends, 'pull');
  const docs = [
    { _id: 'chosen', is: true, t: 'ac0' },
    { _id: 'not', is: false, t: 'ac0' },
    { _id: 'slow', is: true, t: 'a'.repeat(300_000) },
  ];
  await must(source, 'POST /db/_bulk_docs', { docs });
  ends.peer.fault = async ({ path }) => (path.includes('filter=_selector') ? failure(400) : undefined);
  const patterns = Array.from({ length: 200 }, (_, number) => ({ t: { $regex: `(a+)+c${number}` } }));
  const selector = JSON.stringify({ is: true, $or: patterns });
  const attempt = begin(ends.host, { ...replication, ...quick, selection: { kind: 'selector', selector } });
  expect(await attempt.result).toMatchObject({ docs_written: 1, doc_write_failures: 1 });
  expect(attempt.refused).toEqual([
    { id: 'slow', rev: expect.any(String), error: 'too_many_steps', reason: expect.stringContaining('20000000') },
  ]);
  expect(Object.keys(await treesOf(target, 'db'))).toEqual(['chosen']);
});
