import { afterEach, assert, beforeEach, describe, expect, test } from 'vitest';
import { arrayAt, at } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { highestMemory, megabytes, noProcessFiles } from './support/process-use.ts';

/**
 * The first build of views over a large database takes the memory that the setting leaves to sandboxes, and little beyond. It takes
 * minutes: `FIRST_BUILD_DOCUMENTS` says how many documents there are, 1,000,000 by default.
 */
const DOCUMENTS = Number(process.env['FIRST_BUILD_DOCUMENTS'] ?? 1_000_000);
const PER_REQUEST = 10_000;
const SANDBOX_BYTES = 256 * 1024 * 1024;
const BEYOND_BYTES = 350_000_000;
const timeout = 30 * 60_000;

let server: AttackedServer;

beforeEach(async () => {
  server = await AttackedServer.start({ settings: [`query_server_config/memory_bytes=${SANDBOX_BYTES}`] });
}, timeout);

afterEach(() => server.remove(), timeout);

function documentOf(n: number) {
  return { _id: `doc-${String(n).padStart(8, '0')}`, n, group: n % 100, text: 'some words '.repeat(10) };
}

describe.skipIf(noProcessFiles !== undefined)('the first build of three views', () => {
  test('stays within its memory limit', { timeout }, async () => {
    await server.client.must(201, 'PUT', '/large');
    for (let from = 0; from < DOCUMENTS; from += PER_REQUEST) {
      const docs = Array.from({ length: PER_REQUEST }, (_, index) => documentOf(from + index));
      await server.client.must(201, 'POST', '/large/_bulk_docs', { json: { docs } });
    }
    const views = {
      by_n: { map: 'function (doc) { emit(doc.n, null); }', reduce: '_count' },
      by_group: { map: 'function (doc) { emit([doc.group, doc.n], doc.text.length); }', reduce: '_sum' },
      by_text: { map: 'function (doc) { emit(doc.text + doc.n, doc.group); }' },
    };
    await server.client.must(201, 'PUT', '/large/_design/d', { json: { views } });
    // Nothing of what the writing took is to be counted as there before.
    await server.stop();
    await server.startAgain();
    await server.client.must(200, 'GET', '/large');
    const { result, before, highest } = await highestMemory(server.pid, () =>
      server.client.must(200, 'GET', '/large/_design/d/_view/by_n'),
    );
    expect(at(arrayAt(result.json, 'rows')[0], 'value')).toBe(DOCUMENTS);
    const most = SANDBOX_BYTES + BEYOND_BYTES;
    assert.isAtMost(highest - before, most, `${megabytes(highest - before)} more, of ${megabytes(most)}`);
  });
});
