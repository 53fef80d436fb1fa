/** One document that a database can't return, or can't take: it is named, and everything else is copied. */
import { HttpResponse } from 'msw';
import { describe, expect, test } from 'vitest';
import { fill } from '../support/replication/documents.ts';
import {
  type Direction,
  sidesOf as impatientSidesOf,
  type Sides,
  useFlakyEnds,
} from '../support/replication/flaky-ends.ts';
import { cutOff, type Fault, type FaultyRequest, failure } from '../support/replication/flaky-peer.ts';
import { begin, pick, run, treesOf } from '../unit/replication/support.ts';

const ends = useFlakyEnds();
/** The time for many retries is not the subject. */
const FEW = { retriesPerRequest: 1 };

/** A peer that answers late, as on a busy machine, is no fault here. */
function sidesOf(...given: Parameters<typeof impatientSidesOf>): Sides {
  const sides = impatientSidesOf(...given);
  return { ...sides, replication: { ...sides.replication, connectionTimeoutMs: 60_000 } };
}

/** The answer to each request that concerns the document. */
function about(id: string, fault: Fault): Fault {
  return async (asked: FaultyRequest) => {
    const { request, path } = asked;
    const body = request.method === 'POST' ? await textOf(request.clone()) : '';
    const isConcerned = path.startsWith(`/db/${id}?`) || (path.includes('_bulk_') && body.includes(`"${id}"`));
    return isConcerned ? fault(asked) : undefined;
  };
}

/** Of the body, which a replication may send compressed. */
async function textOf(request: Request): Promise<string> {
  const isCompressed = request.headers.get('content-encoding') === 'gzip';
  const body = isCompressed ? request.body?.pipeThrough(new DecompressionStream('gzip')) : request.body;
  return new Response(body ?? null).text();
}

/** The response up to the document's id, with an end as if that were everything. */
async function cutAt(response: Response, id: string): Promise<Response> {
  const text = await response.text();
  return new HttpResponse(text.slice(0, text.indexOf(`"${id}"`) + 3), response);
}

const html = (status: number) => () =>
  new HttpResponse('<html>Access denied</html>', { status, headers: { 'content-type': 'text/html' } });

async function withoutOne(direction: Direction, id: string) {
  const { source, target } = sidesOf(ends, direction);
  const had = { ...(await treesOf(source, 'db')) };
  delete had[id];
  return { had, has: await treesOf(target, 'db') };
}

describe('a document of the source that cannot be read', () => {
  const unreadable: readonly [what: string, fault: Fault, attempts: number, refused: object][] = [
    [
      'is forbidden',
      () => failure(403),
      1,
      { error: 'forbidden', reason: expect.stringContaining('with 403 forbidden') },
    ],
    ['makes it fail', () => failure(500), 2, { error: 'bad_answer', reason: expect.stringContaining('with 500') }],
    [
      'is cut JSON',
      async ({ answer }) => cutAt(await answer(), 'doc-4'),
      2,
      { error: 'bad_answer', reason: expect.stringContaining('not complete JSON') },
    ],
    [
      'breaks off its response',
      async ({ answer }) => cutOff(await answer(), 'reset'),
      2,
      { error: 'bad_answer', reason: expect.stringContaining('was cut off') },
    ],
    [
      'has HTML in its place',
      html(200),
      2,
      { error: 'bad_answer', reason: expect.stringContaining('not complete JSON') },
    ],
    ['has an HTML page 404', html(404), 2, { error: 'bad_answer', reason: expect.stringContaining('with 404') }],
    ['has an HTML page 403', html(403), 1, { error: 'forbidden', reason: expect.stringContaining('with 403') }],
  ];

  test.each(unreadable)('because it %s is named, and holds nothing up', async (_, fault, attempts, refused) => {
    const { source, replication } = sidesOf(ends, 'pull');
    await fill(source, 'db', 30);
    ends.peer.fault = about('doc-4', fault);
    const attempt = begin(ends.host, { ...replication, ...FEW });
    const { history } = await attempt.result;
    expect(attempt.refused).toEqual([{ id: 'doc-4', rev: '2-b1', ...refused }]);
    expect(history).toMatchObject([{ doc_write_failures: 1, refused: [{ id: 'doc-4' }] }]);
    const { had, has } = await withoutOne('pull', 'doc-4');
    expect(has).toEqual(had);
    expect(ends.peer.requests.filter((line) => line === 'GET /db/doc-4')).toHaveLength(attempts);
    // The checkpoint has passed it.
    ends.peer.fault = undefined;
    expect(await run(ends.host, replication)).toMatchObject({ no_changes: true });
  });

  test('alone in its batch is named, too', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    await fill(source, 'db', 1);
    ends.peer.fault = about('doc-0', () => failure(500));
    const attempt = begin(ends.host, { ...replication, ...FEW });
    await attempt.result;
    expect(attempt.refused).toMatchObject([{ id: 'doc-0' }]);
    expect(await treesOf(target, 'db')).toEqual({});
  });

  test('among many that are read in bulk leaves these so', async () => {
    const { source, replication } = sidesOf(ends, 'pull');
    await fill(source, 'db', 60);
    ends.peer.fault = about('doc-14', () => failure(500));
    const attempt = begin(ends.host, { ...replication, ...FEW, workers: 1 });
    await attempt.result;
    expect(attempt.refused).toMatchObject([{ id: 'doc-14' }]);
    // Documents of other batches are not read one by one.
    expect(ends.peer.requests).toContain('GET /db/doc-14');
    expect(ends.peer.requests).not.toContain('GET /db/doc-50');
  });

  test('with a long attachment that cannot be read is named', async () => {
    const { source, replication } = sidesOf(ends, 'pull');
    await fill(source, 'db', 30);
    ends.peer.fault = ({ request, path }) => {
      const isContent = request.headers.get('accept') === 'multipart/related' || path.includes('/a%20long%20one');
      return isContent && path.startsWith('/db/doc-9') ? failure(500) : undefined;
    };
    const attempt = begin(ends.host, { ...replication, ...FEW });
    await attempt.result;
    expect(attempt.refused).toMatchObject([
      { id: 'doc-9', error: 'bad_answer', reason: expect.stringContaining('500') },
    ]);
    const { had, has } = await withoutOne('pull', 'doc-9');
    expect(has).toEqual(had);
  });

  test('is no reason to refuse any if none can be read', async () => {
    const { source, target, replication } = sidesOf(ends, 'pull');
    await fill(source, 'db', 20);
    ends.peer.fault = ({ path }) => (/_bulk_get|\/doc-/.test(path) ? failure(500) : undefined);
    const attempt = begin(ends.host, { ...replication, ...FEW });
    const failed: unknown = await attempt.result.catch((one: unknown) => one);
    expect(failed).toMatchObject({ code: 'replication_failed', isRetryable: true });
    expect(attempt.refused).toEqual([]);
    ends.peer.fault = undefined;
    await run(ends.host, replication);
    expect(await treesOf(target, 'db')).toEqual(await treesOf(source, 'db'));
  });
});

describe('a batch that the target refuses', () => {
  const culprits: readonly [what: string, fault: Fault, error: string][] = [
    ['a failure', () => failure(500), 'bad_answer'],
    ['403 of an intermediary', html(403), 'forbidden'],
    ['an answer that breaks off', async ({ answer }) => cutOff(await answer(), 'reset'), 'bad_answer'],
  ];

  test.each(culprits)('with %s is divided until the document is found that is to blame', async (_, fault, error) => {
    const { source, replication } = sidesOf(ends, 'push');
    await fill(source, 'db', 30);
    ends.peer.fault = about('doc-4', (asked) => (asked.path.includes('_revs_diff') ? undefined : fault(asked)));
    const attempt = begin(ends.host, { ...replication, ...FEW });
    const { history } = await attempt.result;
    expect(attempt.refused).toMatchObject([{ id: 'doc-4', rev: '2-b1', error }]);
    expect(pick(attempt.refused[0], 'reason')).toContain(`${ends.peer.url}/db`);
    expect(history).toMatchObject([{ doc_write_failures: 1 }]);
    const { had, has } = await withoutOne('push', 'doc-4');
    delete has['doc-4'];
    expect(has).toEqual(had);
  });

  test('with all that can be written names no document', async () => {
    const { source, replication } = sidesOf(ends, 'push');
    await fill(source, 'db', 20);
    ends.peer.fault = ({ path }) => (path.includes('_bulk_docs') ? failure(500) : undefined);
    const attempt = begin(ends.host, { ...replication, ...FEW });
    const failed: unknown = await attempt.result.catch((one: unknown) => one);
    expect(failed).toMatchObject({ code: 'replication_failed', isRetryable: true });
    expect(attempt.refused).toEqual([]);
  });
});
