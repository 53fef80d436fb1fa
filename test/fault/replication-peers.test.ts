/** Peers that can't do everything, or do it in a way of their own: what they have is copied all the same, or it is told why not. */
import { HttpResponse } from 'msw';
import { describe, expect, test } from 'vitest';
import { createFetch } from '../../src/http/fetch-adapter.ts';
import { fill } from '../support/replication/documents.ts';
import { expectCopied, sidesOf, useFlakyEnds } from '../support/replication/flaky-ends.ts';
import { cutOff, failure, refused } from '../support/replication/flaky-peer.ts';
import { begin, must, run, treesOf } from '../unit/replication/support.ts';

const ends = useFlakyEnds();

describe('peers that refuse some requests', () => {
  const readOnly: readonly [string, number][] = [
    ['401', 401],
    ['403', 403],
    ['405', 405],
  ];

  test.each(readOnly)(
    'a source that is read-only (%s) is read, and not read again in the next run',
    async (_, status) => {
      const { source, target, replication } = sidesOf(ends, 'pull');
      const { revisions } = await fill(source, 'db', 60);
      ends.peer.fault = ({ request, path }) =>
        request.method === 'GET' || path.includes('/_bulk_get') ? undefined : failure(status);
      const first = await run(ends.host, replication);
      expect(first.history).toMatchObject([{ doc_write_failures: 0 }]);
      await expectCopied(source, target, revisions);
      expect(await run(ends.host, replication)).toMatchObject({ no_changes: true, session_id: first.session_id });
      await must(target, 'DELETE /db');
      await must(target, 'PUT /db');
      expect((await run(ends.host, replication)).no_changes).toBeUndefined();
      await expectCopied(source, target, revisions);
    },
  );

  test('a source that is full is read, and not read again in the next run', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    const { revisions } = await fill(source, 'db', 60);
    ends.peer.fault = ({ request, path }) =>
      request.method === 'PUT' && path.includes('/_local/') ? failure(507) : undefined;
    const first = await run(ends.host, replication);
    await expectCopied(source, target, revisions);
    expect(await run(ends.host, replication)).toMatchObject({ no_changes: true, session_id: first.session_id });
  });

  test('a source that refuses every POST is read document by document', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    const { revisions } = await fill(source, 'db', 60);
    ends.peer.fault = ({ request }) => (request.method === 'GET' ? undefined : failure(405));
    await run(ends.host, replication);
    await expectCopied(source, target, revisions);
  });

  test('a target that refuses checkpoints is written, and not compared again in the next run', async () => {
    const { source, target, replication } = sidesOf(ends, 'push');
    const { revisions } = await fill(source, 'db', 60);
    ends.peer.fault = ({ request, path }) =>
      request.method === 'PUT' && path.includes('/_local/') ? failure(403) : undefined;
    await run(ends.host, replication);
    await expectCopied(source, target, revisions);
    expect(await run(ends.host, replication)).toMatchObject({ no_changes: true });
    await must(source, 'PUT /db/one-more', {});
    const { history } = await run(ends.host, replication);
    expect(history[0]).toMatchObject({ docs_read: 1, docs_written: 1 });
    await must(target, 'DELETE /db');
    await must(target, 'PUT /db');
    await run(ends.host, replication);
    await expectCopied(source, target, revisions + 1);
  });

  test('a target that limits the length of requests gets shorter ones, and longer documents are reported', async () => {
    const { source, target, replication } = sidesOf(ends, 'push');
    await fill(source, 'db', 60);
    await must(source, 'PUT /db/too-long', { text: 'x'.repeat(50_000) });
    ends.peer.fault = async ({ request, answer }) => {
      const isLong = request.method === 'POST' && (await lengthOf(request)) > 8_000;
      return isLong ? failure(413) : answer();
    };
    const attempt = begin(ends.host, replication);
    await attempt.result;
    expect(attempt.refused).toMatchObject([{ id: 'too-long', error: 'too_large' }]);
    const { 'too-long': _, ...trees } = await treesOf(source, 'db');
    expect(await treesOf(target, 'db')).toEqual(trees);
  });

  test('a source without _bulk_get whose responses break off delivers each document once', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    const { revisions } = await fill(source, 'db', 60);
    ends.peer.fault = async ({ number, path, answer }) => {
      if (path.includes('/_bulk_get'))
        return HttpResponse.json({ error: 'bad_request', reason: 'Referer header required.' }, { status: 400 });
      return number % 5 === 0 ? cutOff(await answer(), 'reset') : answer();
    };
    const { history } = await run(ends.host, replication);
    await expectCopied(source, target, revisions);
    expect(history).toMatchObject([{ docs_read: revisions, docs_written: revisions }]);
  });

  test('a source that fails on _bulk_get is read document by document', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    const { revisions } = await fill(source, 'db', 40);
    ends.peer.fault = ({ path }) => (path.includes('/_bulk_get') ? failure(500) : undefined);
    await run(ends.host, replication);
    await expectCopied(source, target, revisions);
  });

  test('a source that allows one request at a time delivers long attachments one by one, besides long documents', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    const { revisions } = await fill(source, 'db', 60);
    const attachment = { content_type: 'application/octet-stream', data: 'AAAA'.repeat(30_000) };
    const docs = Array.from({ length: 40 }, (_, index) => ({
      _id: `long-${index}`,
      _rev: '1-a',
      ...(index % 4 === 0 ? { _attachments: { long: attachment } } : { text: 'x'.repeat(200_000) }),
    }));
    await must(source, 'POST /db/_bulk_docs', { new_edits: false, docs });
    // No documents with their attachments behind them, so that each of these is asked for while the document is written.
    ends.peer.fault = ({ request }) =>
      request.headers.get('accept') === 'multipart/related' ? failure(406) : undefined;
    await run(ends.host, { ...replication, connections: 1, batchSize: 10, connectionTimeoutMs: 10_000 });
    await expectCopied(source, target, revisions + docs.length);
  });
});

describe('peers with unusual responses', () => {
  test('an attachment that arrives too short when read alone is requested again with its document', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    const { revisions } = await fill(source, 'db', 60);
    let short = 0;
    ends.peer.fault = ({ request, path }) => {
      if (request.headers.get('accept') === 'multipart/related') return failure(406);
      return path.includes('/doc-59/note.txt') && ++short <= 2 ? new Response('') : undefined;
    };
    const { history } = await run(ends.host, replication);
    expect(history).toMatchObject([{ docs_written: revisions, doc_write_failures: 0 }]);
    expect(short).toBe(3);
    await expectCopied(source, target, revisions);
  });

  test("from a source that can't filter, the selected documents are copied wherever they are in its feed", async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    await fill(source, 'db', 60);
    ends.peer.fault = ({ path }) => (path.includes('filter=_') ? failure(400) : undefined);
    const ids = ['doc-1', 'doc-41'];
    await run(ends.host, { ...replication, selection: { kind: 'ids', ids } });
    expect(Object.keys(await treesOf(target, 'db'))).toEqual(ids);
  });

  test('a document on which _bulk_get fails is read by itself', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    const { revisions } = await fill(source, 'db', 30);
    let failures = 0;
    ends.peer.fault = async ({ path, answer }) => {
      const response = await answer();
      if (!path.includes('/_bulk_get')) return response;
      const { results } = Object(await response.json());
      const [first, ...rest] = results;
      const error = { id: first.id, rev: '2-b1', error: 'timeout', reason: 'too slow' };
      failures++;
      return HttpResponse.json({ results: [{ ...first, docs: [{ error }] }, ...rest.slice(1)] });
    };
    const attempt = begin(ends.host, replication);
    await attempt.result;
    expect(failures).toBeGreaterThan(0);
    expect(attempt.refused).toEqual([]);
    await expectCopied(source, target, revisions);
  });

  test('a source with an invalid feed is reported, and not read endlessly', async () => {
    const { source, replication } = sidesOf(ends, 'pull');
    await fill(source, 'db', 5);
    ends.peer.fault = ({ path }) =>
      path.includes('feed=continuous') ? new Response('{"nonsense":true}\n') : undefined;
    const attempt = begin(ends.host, { ...replication, continuous: true, retriesPerRequest: 2 });
    await expect(attempt.result).rejects.toMatchObject({
      code: 'replication_failed',
      isRetryable: true,
      reason: expect.stringContaining('an unusable response'),
    });
  });

  test('a source that repeats the same changes is reported', async () => {
    const { source, replication } = sidesOf(ends, 'pull');
    await fill(source, 'db', 30);
    ends.peer.fault = async ({ path, request }) =>
      path.includes('/_changes')
        ? createFetch(source.handle)(
            new Request(`${ends.peer.url}/db/_changes?limit=10&style=all_docs&since=0`, request),
          )
        : createFetch(source.handle)(request);
    await expect(run(ends.host, replication)).rejects.toMatchObject({
      code: 'replication_failed',
      reason: expect.stringMatching(
        /\/db returns the same changes again and again\. .*: see that _changes is not cached\.$/,
      ),
    });
  });

  test('a run that reaches no peer reports no progress', async () => {
    const { replication } = sidesOf(ends, 'pull');
    ends.peer.fault = refused;
    const attempt = begin(ends.host, { ...replication, retriesPerRequest: 0 });
    await expect(attempt.result).rejects.toMatchObject({ code: 'replication_failed', isRetryable: true });
    expect(attempt.figures).toThrow('nothing was told');
  });
});

async function lengthOf(request: Request): Promise<number> {
  const { body, headers } = request.clone();
  const isZipped = headers.get('content-encoding') === 'gzip';
  return (await new Response(isZipped ? body?.pipeThrough(new DecompressionStream('gzip')) : body).text()).length;
}
