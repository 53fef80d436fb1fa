import { afterAll, afterEach, assert, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';
import { assertUndisturbed, Neighbour } from './support/neighbour.ts';
import { anonymousMemory, highestMemory, megabytes, noProcessFiles } from './support/process-use.ts';

/**
 * What selectors do to documents is done in steps: whatever somebody asks, or writes, a neighbour is answered within 100 ms, and what would take
 * minutes is refused.
 */
const limits = { longest: 100 };
const timeout = 240_000;

const numbers = Array.from({ length: 50_000 }, (_, n) => n);
/** Each of them goes over the whole text. */
const slowPatterns = (count: number) => numbers.slice(0, count).map((n) => ({ t: { $regex: `(a+)+c${n}` } }));
const text = 'a'.repeat(300_000);
const SMALL = 20_000;
const FEW = 10;
const AT_ONCE = 100;

let server: AttackedServer;
let neighbour: Neighbour;

beforeAll(async () => {
  server = await AttackedServer.start();
  const { client } = server;
  await client.must(201, 'PUT', '/long');
  await client.must(201, 'PUT', '/long/doc', { json: { t: text, a: numbers, b: numbers.map((n) => -1 - n) } });
  await client.must(201, 'PUT', '/huge');
  await client.must(201, 'PUT', '/huge/doc', { json: { a: new Array(8_000_000).fill(1.5), z: 1 } });
  await client.must(201, 'PUT', '/few');
  const few = Array.from({ length: FEW }, (_, n) => ({ _id: `doc${n}`, t: text.slice(0, 10_000), n }));
  await client.must(201, 'POST', '/few/_bulk_docs', { json: { docs: few } });
  await client.must(201, 'PUT', '/small');
  const small = Array.from({ length: SMALL }, (_, n) => ({ n, name: `name ${n}`, group: n % 10 }));
  await client.must(201, 'POST', '/small/_bulk_docs', { json: { docs: small } });
  await client.must(200, 'POST', '/small/_index', { json: { index: { fields: ['n'] }, name: 'n' } });
  await client.must(200, 'POST', '/small/_find', { json: { selector: { n: 1 } } });
  const validator = { newDoc: { $or: slowPatterns(200).map(({ t }) => ({ t })) } };
  await client.must(201, 'PUT', '/guarded');
  await client.must(201, 'PUT', '/guarded/_design/guard', {
    json: { language: 'query', validate_doc_update: validator },
  });
}, timeout);

beforeEach(async () => {
  neighbour ??= await Neighbour.moveIn(server);
});

afterEach(() => {
  assert.isTrue(server.isRunning);
});

afterAll(async () => {
  await neighbour?.moveOut();
  await server?.remove();
});

type Attack = readonly [what: string, status: number, tail: RegExp, path: string, body: () => unknown, count?: number];

const tooMany = /more than \d+ steps [^"]*\. [^"]+\."\}\n$/;
const found = /"bookmark":[\s\S]*\}\n$/;

const attacks: readonly Attack[] = [
  ['hundreds of slow patterns', 400, tooMany, '/long/_find', () => ({ selector: { $or: slowPatterns(200) } })],
  [
    'a long list and a long array',
    200,
    found,
    '/long/_find',
    () => ({ selector: { b: { $elemMatch: { $in: numbers } } } }),
  ],
  ['none of a long list', 200, found, '/long/_find', () => ({ selector: { b: { $nin: numbers } } })],
  ['all of a long list', 200, found, '/long/_find', () => ({ selector: { a: { $all: numbers } } })],
  [
    'a long list of strings of other scripts',
    200,
    found,
    '/long/_find',
    () => ({ selector: { t: { $nin: numbers.map((n) => `語${n}`) } } }),
  ],
  [
    'thousands of conditions on elements',
    400,
    tooMany,
    '/long/_find',
    () => ({ selector: { $or: numbers.slice(0, 3_000).map((n) => ({ a: { $elemMatch: { $eq: -1 - n } } })) } }),
  ],
  [
    'comparisons with long values',
    200,
    found,
    '/long/_find',
    () => ({ selector: { $and: numbers.slice(0, 9).map((n) => ({ a: { $ne: [...numbers, n] } })) } }),
  ],
  [
    'as many conditions as there may be',
    200,
    found,
    '/few/_find',
    () => ({ selector: { $or: numbers.slice(0, 10_000).map((n) => ({ [`field${n}`]: { $gt: n } })) }, limit: 5 }),
  ],
  [
    'how that is planned',
    200,
    /\}\s*$/,
    '/small/_explain',
    () => ({ selector: { $and: numbers.slice(0, 10_000).map((n) => ({ [`field${n}`]: { $gt: n } })) } }),
  ],
  [
    'more conditions than there may be',
    400,
    /10000 conditions at most/,
    '/small/_find',
    () => ({ selector: { $or: numbers.map((n) => ({ a: { $gt: n } })) } }),
  ],
  [
    'patterns as long as they may be',
    200,
    found,
    '/few/_find',
    () => ({
      selector: { $or: numbers.slice(0, 19).map((n) => ({ t: { $regex: `(?i)^(?:[a-z\\p{Lu}]{0,500}|x${n})$` } })) },
      limit: 5,
    }),
  ],
  [
    'properties of characters',
    200,
    found,
    '/long/_find',
    () => ({ selector: { t: { $regex: '(\\p{L}+\\p{Script=Latin})+c' } } }),
  ],
  [
    'values that an index has, a thousand of them',
    200,
    found,
    '/small/_find',
    () => ({ selector: { n: { $in: numbers.slice(0, 1_000).map((n) => n * 20) } }, limit: 1_000 }),
  ],
  [
    'alternatives that an index has, thousands of them',
    200,
    found,
    '/small/_find',
    () => ({ selector: { $or: numbers.slice(0, 10_000).map((n) => ({ n: n * 2 })) }, limit: 10_000 }),
  ],
  [
    'queries with slow patterns, a hundred at once',
    200,
    found,
    '/few/_find',
    () => ({ selector: { $or: slowPatterns(3) } }),
    AT_ONCE,
  ],
  [
    'feeds with slow patterns, a hundred at once',
    200,
    /"last_seq":\d+,"pending":0\}\n$/,
    '/few/_changes?filter=_selector',
    () => ({ selector: { $or: slowPatterns(3) } }),
    AT_ONCE,
  ],
  [
    'longpolls with slow patterns, a hundred at once',
    200,
    /"last_seq":\d+,"pending":0\}\n$/,
    '/few/_changes?filter=_selector&feed=longpoll&timeout=1000',
    () => ({ selector: { $or: slowPatterns(3) } }),
    AT_ONCE,
  ],
  [
    'live queries with slow patterns, a hundred at once',
    200,
    /"last_seq":\d+\}\n$/,
    '/few/_find?feed=continuous&since=0&timeout=1000',
    () => ({ selector: { $or: slowPatterns(3) } }),
    AT_ONCE,
  ],
  ['a field of a long document', 200, found, '/huge/_find', () => ({ selector: { z: 1 }, fields: ['z', 'a.0'] })],
  ['a write that is validated by slow patterns', 403, /steps/, '/guarded', () => ({ t: text })],
];

describe.skipIf(noProcessFiles !== undefined)('other requests are served in time beside a costly selector', () => {
  test.for(attacks)('%s', { timeout }, async ([what, status, tail, path, body, count = 1]) => {
    const sent = { json: body() };
    const before = anonymousMemory(server.pid);
    const { result, latencies, quiet } = await assertUndisturbed(neighbour, limits, {
      prepare: () => Promise.resolve(),
      disturb: async () => {
        const begun = performance.now();
        const asked = Array.from({ length: count }, () => server.client.drain('POST', path, sent));
        const { highest, result: answers } = await highestMemory(server.pid, () => Promise.all(asked));
        return { answers, ms: performance.now() - begun, highest };
      },
    });
    const { answers, ms, highest } = result;
    const [first] = answers;
    console.log(
      `${what}: ${count} × ${first?.status} in ${(ms / 1000).toFixed(1)} s, a neighbour waited ${latencies.longest.toFixed(0)} ms at most, ` +
        `${latencies.median.toFixed(1)} ms mostly (${quiet.longest.toFixed(0)} and ${quiet.median.toFixed(1)} ms before), the longest turn took ${latencies.longestTurn?.toFixed(0)} ms; memory +${megabytes(highest - before)}`,
    );
    for (const answer of answers) {
      expect(answer.status, answer.tail).toBe(status);
      assert.match(answer.tail, tail);
    }
  });

  test('of a hundred live queries with slow patterns on a database with rapid writes', { timeout }, async () => {
    const { client } = server;
    await client.must(201, 'PUT', '/written');
    const sent = { json: { selector: { $or: slowPatterns(3) } } };
    await assertUndisturbed(neighbour, limits, {
      prepare: () => Promise.resolve(),
      disturb: async () => {
        const feeds = Array.from({ length: AT_ONCE }, () =>
          client.drain('POST', '/written/_find?feed=continuous&timeout=2000', sent),
        );
        const docs = Array.from({ length: 20 }, () => ({ t: text.slice(0, 2_000) }));
        for (let round = 0; round < 10; round++)
          await client.must(201, 'POST', '/written/_bulk_docs', { json: { docs } });
        for (const { status, tail } of await Promise.all(feeds)) {
          expect(status).toBe(200);
          assert.match(tail, /"last_seq":\d+\}\n$/);
        }
      },
    });
  });
});
