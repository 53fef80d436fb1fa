/** A long attachment between two servers: neither of them ever holds it, and it travels once. SETTEE_HOSTILE_BYTES says how long it is (1 GB). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { at } from '../support/conformance/json.ts';
import { TcpRelay } from '../support/replication/tcp-relay.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { digestAt, upload } from './support/long-attachment.ts';
import { highestMemory, megabytes, noProcessFiles } from './support/process-use.ts';

const bytes = Number(process.env['SETTEE_HOSTILE_BYTES'] ?? 1_000_000_000);
const MAX_GROWTH = 64 * 1_048_576;

let source: AttackedServer;
let target: AttackedServer;

beforeEach(async () => {
  [source, target] = await Promise.all([AttackedServer.start(), AttackedServer.start()]);
  await source.client.must(201, 'PUT', '/db');
  await target.client.must(201, 'PUT', '/db');
});

afterEach(async () => {
  await Promise.all([source.remove(), target.remove()]);
});

/** What a server loads with its first replication counts for nothing. */
const WARMING_BYTES = 4_000_000;

describe.skipIf(noProcessFiles !== undefined)(
  `an attachment of ${megabytes(bytes)} (${noProcessFiles ?? 'on Linux'})`,
  () => {
    test.each(['pulled', 'pushed'] as const)('is %s with little memory, and not copied again', async (how) => {
      const way = (from: string, to: string) =>
        how === 'pulled' ? { source: from, target: 'db' } : { source: 'db', target: to };
      const runner = how === 'pulled' ? target : source;
      const body = way(`${source.url.href}db`, `${target.url.href}db`);
      await upload(`${source.url.href}db/first/long`, WARMING_BYTES);
      await runner.client.must(200, 'POST', '/_replicate', { json: body });
      const digest = await upload(`${source.url.href}db/doc/long`, bytes);
      const outcome = await highestMemory(source.pid, () =>
        highestMemory(target.pid, () => runner.client.must(200, 'POST', '/_replicate', { json: body })),
      );
      const atSource = outcome.highest - outcome.before;
      const atTarget = outcome.result.highest - outcome.result.before;
      console.log(`${how}: the source grew by ${megabytes(atSource)}, the target by ${megabytes(atTarget)}`);
      expect(at(outcome.result.result.json, 'history', 0)).toMatchObject({ docs_written: 1, doc_write_failures: 0 });
      expect(await digestAt(`${target.url.href}db/doc/long`)).toBe(digest);
      expect(Math.max(atSource, atTarget)).toBeLessThanOrEqual(MAX_GROWTH);

      const doc = Object((await source.client.must(200, 'GET', '/db/doc')).json);
      await source.client.must(201, 'PUT', '/db/doc', { json: { ...doc, changed: true } });
      const relay = await TcpRelay.start(how === 'pulled' ? source.url.href : target.url.href);
      const again = way(`${relay.url}/db`, `${relay.url}/db`);
      const { json } = await runner.client.must(200, 'POST', '/_replicate', { json: again });
      expect(at(json, 'history', 0)).toMatchObject({ docs_written: 1, doc_write_failures: 0 });
      expect(relay.bytes).toBeLessThan(100_000);
      await relay.close();
      expect(Object((await target.client.must(200, 'GET', '/db/doc')).json)).toMatchObject({ changed: true });
    });
  },
);
