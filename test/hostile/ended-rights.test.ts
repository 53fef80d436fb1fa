import { afterEach, assert, beforeEach, describe, test } from 'vitest';
import { arrayAt, at } from '../support/conformance/json.ts';
import { nextPoll } from '../support/conformance/toolkit.ts';
import { AttackedServer } from './support/attacked-server.ts';
import type { WholeAnswer } from './support/http-client.ts';
import { Neighbour } from './support/neighbour.ts';
import { highestMemory, megabytes, noProcessFiles } from './support/process-use.ts';

/** Whoever had rights gets nothing more when they are gone, by whatever was begun before (docs/http/accounts.md#rights-that-end). */
const timeout = 180_000;
const SPARE_BYTES = 100_000_000;
const REPLICATIONS = 100;
const DOCUMENTS = 300;
const TIMS = '/_users/org.couchdb.user:tim';

const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
});
const ROOT = basic('root', 'rootpw');
const TIM = basic('tim', 'tim');

let server: AttackedServer;
/** Of the attacker. */
let other: AttackedServer;

async function must(status: number, method: string, path: string, json?: unknown): Promise<WholeAnswer> {
  return server.client.must(status, method, path, { headers: ROOT, ...(json === undefined ? {} : { json }) });
}

async function dismiss(): Promise<void> {
  const { json } = await must(200, 'GET', TIMS);
  await must(200, 'DELETE', `${TIMS}?rev=${String(at(json, '_rev'))}`);
}

async function loot(): Promise<readonly string[]> {
  const { json } = await other.client.must(200, 'GET', '/loot/_all_docs');
  return arrayAt(json, 'rows').map((row) => String(at(row, 'id')));
}

beforeEach(async () => {
  server = await AttackedServer.start({
    settings: ['admins/root=rootpw', 'svc_httpd_auth/iterations=100', 'replicator/allowed_hosts=127.0.0.1'],
  });
  other = await AttackedServer.start();
  await other.client.must(201, 'PUT', '/loot');
  for (const name of ['_users', 'priv', 'neighbour']) await must(201, 'PUT', `/${name}`);
  await must(201, 'PUT', '/neighbour/doc', { text: 'a small document' });
  await must(201, 'PUT', TIMS, { type: 'user', name: 'tim', password: 'tim', roles: ['team'] });
  await must(200, 'PUT', '/priv/_security', { members: { roles: ['team'] } });
});

afterEach(async () => {
  await other.remove();
  await server.remove();
});

describe.skipIf(noProcessFiles !== undefined)('when an account is deleted', () => {
  test(`its ${REPLICATIONS} replications to another server end`, { timeout }, async () => {
    for (let n = 0; n < REPLICATIONS; n++) {
      const target = `${other.url}loot`;
      const json = { source: 'priv', target, continuous: true, doc_ids: [`before${n}`, `hidden${n}`] };
      await server.client.must(202, 'POST', '/_replicate', { headers: TIM, json });
    }
    const docs = (prefix: string) => Array.from({ length: REPLICATIONS }, (_, n) => ({ _id: `${prefix}${n}` }));
    await must(201, 'POST', '/priv/_bulk_docs', { docs: docs('before') });
    while ((await loot()).length < REPLICATIONS) await nextPoll();
    const neighbour = await Neighbour.returnTo(server);
    try {
      const { result, before, highest } = await highestMemory(server.pid, () =>
        neighbour.during(async () => {
          await dismiss();
          await must(201, 'POST', '/priv/_bulk_docs', { docs: docs('hidden') });
          for (let isOver = false; !isOver; ) {
            const { json } = await must(200, 'GET', `/_scheduler/jobs?limit=${REPLICATIONS}`);
            isOver = arrayAt(json, 'jobs').every((job) => at(job, 'state') === 'failed');
            await nextPoll();
          }
        }),
      );
      const got = (await loot()).filter((id) => id.startsWith('hidden')).length;
      const told = `${REPLICATIONS} replications of a deleted account: ${megabytes(highest - before)} more memory, the longest wait of a neighbour ${Math.round(result.latencies.longest)} ms; the attacker got ${got} of ${REPLICATIONS} documents`;
      process.stdout.write(`${told}\n`);
      assert.equal(got, 0, told);
      assert.isAtMost(highest - before, SPARE_BYTES, told);
    } finally {
      await neighbour.moveOut();
    }
  });

  test('its lists and uploads in progress are aborted', { timeout }, async () => {
    const docs = Array.from({ length: DOCUMENTS }, (_, n) => ({ _id: `doc${n}`, text: 'x'.repeat(100_000) }));
    await must(201, 'POST', '/priv/_bulk_docs', { docs });
    const list = await server.client.begin('GET', '/priv/_all_docs?include_docs=true', { headers: TIM });
    await dismiss();
    let got = 0;
    const reading = async () => {
      for await (const chunk of list) got += chunk.length;
    };
    const end = await reading().catch((failure: unknown) => failure);
    const told = `a list of 30 MB, half read by a deleted account: the attacker got ${megabytes(got)}`;
    process.stdout.write(`${told}\n`);
    assert.instanceOf(end, Error, told);
    assert.isBelow(got, 15_000_000, told);
  });
});
