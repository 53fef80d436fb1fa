import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Log } from '../../../src/base/system/contract.ts';
import type { Core } from '../../../src/core/core.ts';
import { hostOf, local, must, newCore, pick, replicationOf, run, treesOf } from './support.ts';

/** Checkpoints as automatic purges of the source see them (docs/http/databases.md#peers-of-a-database). */

const CHECKPOINT = '_local/checkpoint';
const copy = replicationOf(local('from'), local('to'));

let core: Core;
let logged: string[];

beforeEach(async () => {
  core = await newCore();
  logged = [];
  await must(core, 'PUT /from');
  await must(core, 'PUT /to');
  await must(core, 'PUT /from/kept', { n: 1 });
  await must(core, 'PUT /from/gone', { n: 2 });
});

afterEach(() => core.close());

function replicate() {
  const add = (message: string) => void logged.push(message);
  const log: Log = { error: add, info: add, debug: add };
  return run(hostOf(core.handle, { log }), copy);
}

async function removeAt(database: string, id: string): Promise<void> {
  const rev = String(pick(await must(core, `GET /${database}/${id}`), '_rev'));
  await must(core, `DELETE /${database}/${id}?rev=${rev}`);
}

async function purged(database: string): Promise<void> {
  await must(core, `DELETE /${database}/_time_seq`);
  while (pick(await must(core, `GET /${database}`), 'doc_del_count') !== 0) {
    await must(core, `PUT /${database}/_auto_purge`, { deleted_document_ttl: '1_sec' });
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function idsOf(database: string): Promise<string[]> {
  return Object.keys(await treesOf(core, database));
}

test('each end of a checkpoint says which one it is, and the source lists the peer', async () => {
  await replicate();
  expect(pick(await must(core, `GET /from/${CHECKPOINT}`), 'side')).toBe('source');
  expect(pick(await must(core, `GET /to/${CHECKPOINT}`), 'side')).toBe('target');
  expect(pick(await must(core, 'GET /from/_auto_purge/peers'), 'peers')).toMatchObject([
    { id: CHECKPOINT, side: 'source', seq: 2, state: 'passed' },
  ]);
  expect(pick(await must(core, 'GET /to/_auto_purge/peers'), 'peers')).toMatchObject([
    { id: CHECKPOINT, side: 'target', seq: null, state: 'target' },
  ]);
});

describe('a source that purges', () => {
  test('waits for its peer: the deletion arrives', async () => {
    await replicate();
    await removeAt('from', 'gone');
    await must(core, 'DELETE /from/_time_seq');
    await must(core, 'PUT /from/_auto_purge', { deleted_document_ttl: '1_sec' });
    const states = async () => pick(await must(core, 'GET /from/_auto_purge/peers'), 'peers', 0, 'state');
    while ((await states()) !== 'behind') await new Promise((resolve) => setTimeout(resolve, 20));
    await must(core, 'PUT /from/_auto_purge', { deleted_document_ttl: '1_sec' });
    await replicate();
    expect(await idsOf('to')).toEqual(['gone', 'kept']);
    expect(pick(await must(core, 'GET /to'), 'doc_del_count')).toBe(1);
    await purged('from');
    expect(await idsOf('from')).toEqual(['kept']);
    expect(logged).toEqual([]);
  });

  test('has forgotten the peer: it begins again, which the log says, and keeps what it had', async () => {
    await replicate();
    await removeAt('from', CHECKPOINT);
    await removeAt('from', 'gone');
    await purged('from');
    const { history } = await replicate();
    expect(history[0]).toMatchObject({ start_last_seq: 0 });
    expect(logged).toEqual([
      'replication: from no longer has the checkpoint of this replication, which begins again; documents that were deleted and purged there meanwhile stay in to',
    ]);
    expect(await idsOf('to')).toEqual(['gone', 'kept']);
    await run(hostOf(core.handle), replicationOf(local('to'), local('from')), 'back');
    expect(await idsOf('from')).toEqual(['gone', 'kept']);
  });
});
