import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Handle, PlainRequest } from '../../../src/base/shared/message.ts';
import type { Log } from '../../../src/base/system/contract.ts';
import type { Core } from '../../../src/core/core.ts';
import type { RunObserver } from '../../../src/replication/contract.ts';
import { ask, begin, hostOf, local, must, newCore, pick, type Run, replicationOf } from './support.ts';

/** Ends that refuse checkpoints, documents, or to make everything durable, for a while (docs/http/replication.md#failed-replications). */

const CHECKPOINT = '_local/checkpoint';
const replication = replicationOf(local('from'), local('to'), { continuous: true, checkpointIntervalMs: 1 });

let core: Core;
let logged: string[];
let run: Run;
/** The status with which an end refuses that request; undefined if it answers. */
let refusal: (request: PlainRequest) => number | undefined;

beforeEach(async () => {
  core = await newCore();
  await must(core, 'PUT /from');
  await must(core, 'PUT /to');
  logged = [];
  refusal = () => undefined;
});

afterEach(async () => {
  await run.stop();
  await core.close();
});

function replicate(observer: Partial<RunObserver> = {}): void {
  const add = (message: string) => void logged.push(message);
  const log: Log = { error: add, info: add, debug: add };
  const handle: Handle = (request) => {
    const status = refusal(request);
    if (status === undefined) return core.handle(request);
    return Promise.resolve({ status, headers: {}, body: '{"error":"refused","reason":"not now"}' });
  };
  run = begin(hostOf(handle, { log }), replication, CHECKPOINT.replace('_local/', ''), observer);
}

const isCheckpointOf = (database: string) => (request: PlainRequest) =>
  request.method === 'PUT' && request.url.startsWith(`/${database}/${CHECKPOINT}`);

/** The checkpoint of a database once it says that everything was copied. */
async function checkpointUpTo(database: string, id: string, isAlone?: boolean): Promise<unknown> {
  await must(core, `PUT /from/${id}`, {});
  const seq = pick(await must(core, 'GET /from'), 'update_seq');
  for (;;) {
    const stored = await ask(core, `GET /${database}/${CHECKPOINT}`);
    const value: unknown = JSON.parse(`${stored.body}`);
    if (stored.status === 200 && pick(value, 'source_last_seq') === seq) {
      // The target's checkpoint is written first, and again if the source then takes none.
      if (isAlone === undefined || isAlone === Object.hasOwn(Object(value), 'alone')) return value;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe.each([
  ['source', 'from', 'to'],
  ['target', 'to', 'from'],
] as const)('a %s without space', (side, full, other) => {
  test('gets the next checkpoint as soon as it has space', async () => {
    const isOfFull = isCheckpointOf(full);
    refusal = (request) => (isOfFull(request) ? 507 : undefined);
    replicate();
    for (const id of ['a', 'b']) await checkpointUpTo(other, id, true);
    refusal = () => undefined;
    await checkpointUpTo(full, 'c');
    await checkpointUpTo(other, 'd', false);
    expect(logged).toEqual([
      expect.stringMatching(`the ${side} .* accepts no checkpoint .*507`),
      expect.stringMatching(`the ${side} .* accepts checkpoints again`),
    ]);
  });
});

test('an end that forbids checkpoints is not asked again', async () => {
  let asked = 0;
  const isOfSource = isCheckpointOf('from');
  refusal = (request) => {
    if (!isOfSource(request)) return undefined;
    asked++;
    return 403;
  };
  replicate();
  for (const id of ['a', 'b', 'c']) await checkpointUpTo('to', id);
  expect(asked).toBe(1);
});

describe('a source that refuses to make everything durable', () => {
  async function commitsAsked(refused: readonly number[]): Promise<number> {
    let asked = 0;
    refusal = ({ method, url }) =>
      method === 'POST' && url.startsWith('/from/_ensure_full_commit') ? refused[asked++] : undefined;
    replicate();
    for (const id of ['a', 'b', 'c']) await checkpointUpTo('from', id);
    return asked;
  }

  test('with 401, once, is asked again: its credentials may have just ended', async () => {
    expect(await commitsAsked([401])).toBeGreaterThanOrEqual(4);
  });

  test.each([
    ['with 401, also when it answers otherwise', [401, 401], 2],
    ['with 403', [403], 1],
  ])('%s, is not asked again', async (_how, refused, times) => {
    expect(await commitsAsked(refused)).toBe(times);
  });
});

test('no checkpoint passes a refused document before its name is kept', async () => {
  const refuse = "function (doc) { if (doc._id === 'bad') throw { forbidden: 'no' }; }";
  await must(core, 'PUT /to/_design/rules', { validate_doc_update: refuse });
  await must(core, 'PUT /from/bad', {});
  const seq = pick(await must(core, 'GET /from'), 'update_seq');
  let keep: () => void = () => undefined;
  const kept = new Promise<void>((resolve) => {
    keep = resolve;
  });
  const asked = new Promise<void>((resolve) => {
    replicate({
      keepRefused: () => {
        resolve();
        return kept;
      },
    });
  });
  await asked;
  expect(run.refused).toMatchObject([{ id: 'bad' }]);
  for (const database of ['from', 'to']) {
    const stored = await ask(core, `GET /${database}/${CHECKPOINT}`);
    const reached = stored.status === 200 ? pick(JSON.parse(`${stored.body}`), 'source_last_seq') : 0;
    expect(reached).not.toBe(seq);
  }
  keep();
  await checkpointUpTo('from', 'next');
});
