/** Replications with a Node server over real connections that break, and with servers that come back with less than they had. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Core } from '../../src/core/core.ts';
import type { Replication } from '../../src/replication/contract.ts';
import { patient } from '../support/patience.ts';
import { RestorableServer } from '../support/replication/backups.ts';
import { fill } from '../support/replication/documents.ts';
import { KeptRun } from '../support/replication/kept-run.ts';
import { TcpRelay } from '../support/replication/tcp-relay.ts';
import {
  begin,
  hostOf,
  local,
  must,
  newCore,
  pick,
  remote,
  replicationOf,
  run,
  treesOf,
} from '../unit/replication/support.ts';

let core: Core;
let server: RestorableServer;
let relay: TcpRelay;

beforeEach(async () => {
  [core, server] = await Promise.all([newCore(), RestorableServer.start()]);
  relay = await TcpRelay.start(server.url);
  await must(core, 'PUT /db');
  await put('');
});

afterEach(async () => {
  await relay.close();
  await Promise.all([core.close(), server.close()]);
});

const PATIENCE: Partial<Replication> = {
  batchSize: 10,
  retriesPerRequest: 5,
  connectionTimeoutMs: 1_000,
  checkpointIntervalMs: 20,
};

/** Each direction has checkpoints of its own. */
type Way = readonly [replication: Replication, checkpointId: string];
const push = (): Way => [replicationOf(local('db'), remote(`${relay.url}/db`), PATIENCE), 'push'];
const pull = (): Way => [replicationOf(remote(`${relay.url}/db`), local('db'), PATIENCE), 'pull'];
const host = () => hostOf(core.handle);

async function put(path: string, body?: object): Promise<void> {
  const init =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const response = await fetch(`${server.url}/db${path}`, { method: 'PUT', ...init });
  if (!response.ok) throw new Error(`PUT ${path}: ${response.status} ${await response.text()}`);
}

/** Pulls what the server has into another database here, by the direct way, and compares. */
async function expectSame(): Promise<void> {
  await must(core, 'PUT /there');
  await run(host(), replicationOf(remote(`${server.url}/db`), local('there')), 'for the comparison');
  expect(await treesOf(core, 'there')).toEqual(await treesOf(core, 'db'));
}

describe('connections', () => {
  test('that are reset in the middle of responses and long bodies are opened again', async () => {
    const { revisions } = await fill(core, 'db', 60);
    relay.resetAfter(100, 3_000, 0, 700, 150, 1_000, 0);
    const out = await run(host(), ...push());
    expect(out.history).toMatchObject([{ doc_write_failures: 0 }]);
    await expectSame();
    await must(core, 'DELETE /db');
    await must(core, 'PUT /db');
    // Through a new relay, so that all connections are new.
    relay.resetAll();
    relay.resetAfter(400, 20_000, 100, 60_000, 3_000, 0);
    const back = begin(host(), ...pull());
    expect((await back.result).history).toMatchObject([{ doc_write_failures: 0 }]);
    expect(back.refused).toEqual([]);
    expect(pick(await must(core, 'GET /db'), 'update_seq')).toBeLessThanOrEqual(revisions);
    await expect(treesOf(core, 'db')).resolves.toEqual(await treesOf(core, 'there'));
  });

  test('that are refused for a while, then silent, end no continuous replication', async () => {
    const running = new KeptRun(host(), ...push());
    const answering = new KeptRun(host(), ...pull());
    await fill(core, 'db', 20);
    await Promise.all([running.current.idle(), answering.current.idle()]);
    const port = await relay.refuse();
    await fill(core, 'db', 20, 'while-refused');
    await put('/there-while-refused', {});
    await relay.listen(port);
    await expect.poll(() => askCore('/there-while-refused'), patient).toBe(200);
    relay.isSilent = true;
    await fill(core, 'db', 20, 'while-silent');
    await expect.poll(() => isOpen(`${relay.url}/db`), patient).toBe(false);
    relay.isSilent = false;
    relay.resetAll();
    await put('/there-while-silent', {});
    await expect.poll(() => askCore('/there-while-silent'), patient).toBe(200);
    await expect.poll(() => status('/while-silent-19'), patient).toBe(200);
    await Promise.all([running.stop(), answering.stop()]);
    await run(host(), ...push());
    await expectSame();
  });
});

async function askCore(path: string): Promise<number> {
  return (await core.handle({ method: 'GET', url: `/db${path}`, headers: {}, body: null })).status;
}

async function status(path: string): Promise<number> {
  return (await fetch(`${server.url}/db${path}`)).status;
}

async function isOpen(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(300) }).then(
    () => true,
    () => false,
  );
}

describe('a server that is restored from a backup', () => {
  test('as a target between two runs, gets what it lost', async () => {
    await fill(core, 'db', 20);
    await run(host(), ...push());
    await server.backUp();
    await fill(core, 'db', 20, 'later');
    await run(host(), ...push());
    await server.restore();
    await fill(core, 'db', 5, 'last');
    const { history } = await run(host(), ...push());
    // From where the backup was made, not from the beginning.
    expect(history[0]?.start_last_seq).toBeGreaterThan(0);
    await expectSame();
  });

  test('as a target during a continuous replication, gets what it lost', async () => {
    await fill(core, 'db', 20);
    await run(host(), ...push());
    await server.backUp();
    const running = new KeptRun(host(), ...push());
    await fill(core, 'db', 20, 'later');
    await expect.poll(() => status('/later-19'), patient).toBe(200);
    await expect.poll(() => running.current.figures().checkpointedSourceSeq, patient).toBe(44);
    await server.restore();
    expect(await status('/later-19')).toBe(404);
    await fill(core, 'db', 1, 'last');
    await expect.poll(() => status('/later-19'), patient).toBe(200);
    await running.stop();
    await run(host(), ...push());
    await expectSame();
  });

  test('as a source, delivers later writes that reuse sequence numbers', async () => {
    await put('/a', {});
    await run(host(), ...pull());
    await server.backUp();
    const running = new KeptRun(host(), ...pull());
    for (const id of ['b', 'c', 'd']) await put(`/${id}`, {});
    await expect.poll(() => askCore('/d'), patient).toBe(200);
    await expect.poll(() => running.current.figures().checkpointedSourceSeq, patient).toBe(4);
    await relay.refuse().then(async (port) => {
      await server.restore();
      for (const id of ['new-1', 'new-2', 'new-3']) await put(`/${id}`, {});
      await relay.listen(port);
    });
    await expect.poll(() => askCore('/new-1'), patient).toBe(200);
    await running.stop();
    await run(host(), ...push());
    await expectSame();
  });
});
