/** A hundred continuous replications that have nothing to do take no processor time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { arrayAt, at } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { noProcessFiles, processorSeconds } from './support/process-use.ts';

const COUNT = 100;
const MEASURED_MS = 20_000;
const SETTLED_MS = 8_000;
/** What a server without any of them takes in that time is measured, and this is what may come to it. */
const MAX_SECONDS = 0.2;

let server: AttackedServer;
let other: AttackedServer;

beforeEach(async () => {
  [server, other] = await Promise.all([
    AttackedServer.start({ isAtRest: true }),
    AttackedServer.start({ isAtRest: true }),
  ]);
});
afterEach(async () => {
  await Promise.all([server.remove(), other.remove()]);
});

describe.skipIf(noProcessFiles !== undefined)(
  `replications without changes (${noProcessFiles ?? 'on Linux'}) cause almost no work`,
  () => {
    test.each(['within a server', 'between two servers'] as const)('%s', async (where) => {
      await server.client.must(201, 'PUT', '/source');
      await server.client.must(201, 'PUT', '/source/doc', { json: {} });
      const before = await secondsOver(server.pid);
      for (let index = 0; index < COUNT; index++) {
        const target = where === 'within a server' ? `target-${index}` : `${other.url.href}target-${index}`;
        const json = { source: 'source', target, create_target: true, continuous: true };
        await server.client.must(202, 'POST', '/_replicate', { json });
      }
      await areIdle();
      await isSettled();
      const after = await secondsOver(server.pid);
      console.log(`${where}: ${after} s in ${MEASURED_MS / 1_000} s; without them ${before} s`);
      expect(after - before).toBeLessThanOrEqual(MAX_SECONDS);
    });
  },
);

async function secondsOver(pid: number, ms = MEASURED_MS): Promise<number> {
  const begun = processorSeconds(pid);
  await sleep(ms);
  return processorSeconds(pid) - begun;
}

/** Databases that were just written store what is in their journals. That is no work of the replications. */
async function isSettled(): Promise<void> {
  const seconds = () => secondsOver(server.pid, SETTLED_MS);
  await expect.poll(seconds, { timeout: 120_000 }).toBeLessThanOrEqual(MAX_SECONDS / (MEASURED_MS / SETTLED_MS));
}

/** All have copied, and made their checkpoints. */
async function areIdle(): Promise<void> {
  const isIdle = (task: unknown) => at(task, 'docs_written') === 1 && at(task, 'checkpointed_source_seq') === 1;
  const idle = async () => arrayAt((await server.client.must(200, 'GET', '/_active_tasks')).json).filter(isIdle).length;
  await expect.poll(idle, { timeout: 120_000, interval: 500 }).toBe(COUNT);
}
