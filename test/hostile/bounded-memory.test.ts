import { connect, type Socket } from 'node:net';
import { afterEach, assert, describe, expect, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';
import { anonymousMemory, highestMemory, megabytes, noProcessFiles } from './support/process-use.ts';

/** What many clients or many databases make a server keep is bounded. */
const timeout = 240_000;
const PAGE_CACHE_BYTES = 33_554_432;

let server: AttackedServer;

afterEach(() => server.remove());

describe.skipIf(noProcessFiles !== undefined)('memory', () => {
  test("of 200 clients that don't read their responses is at most 1 MB each", { timeout }, async () => {
    server = await AttackedServer.start({ settings: [`svc/page_cache_bytes=${PAGE_CACHE_BYTES}`] });
    await server.client.must(201, 'PUT', '/db');
    for (let from = 0; from < 20_000; from += 5_000) {
      const docs = Array.from({ length: 5_000 }, (_, n) => ({ _id: `doc-${from + n}`, text: 'x'.repeat(2_000) }));
      await server.client.must(201, 'POST', '/db/_bulk_docs', { json: { docs } });
    }
    // What is read once is in the cache, and none of the clients' doing.
    await server.client.drain('GET', '/db/_all_docs?include_docs=true');
    const sockets: Socket[] = [];
    try {
      const { before, highest } = await highestMemory(server.pid, async () => {
        for (let client = 0; client < 200; client++)
          sockets.push(await askWithoutReading('/db/_all_docs?include_docs=true'));
        // Another one's answer comes whole meanwhile, behind whatever is prepared for them.
        const { length } = await server.client.drain('GET', '/db/_all_docs?include_docs=true');
        expect(length).toBeGreaterThan(40_000_000);
      });
      assert.isAtMost(highest - before, 200_000_000, `${megabytes(highest - before)} for 200 clients`);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  test('of 500 open databases is at most 150 MB beyond the cache', { timeout }, async () => {
    server = await AttackedServer.start({
      settings: ['svc/max_dbs_open=500', `svc/page_cache_bytes=${PAGE_CACHE_BYTES}`],
    });
    const before = anonymousMemory(server.pid);
    const docs = Array.from({ length: 100 }, (_, n) => ({ _id: `doc-${n}`, text: 'x'.repeat(500) }));
    for (let n = 0; n < 500; n++) {
      await server.client.must(201, 'PUT', `/db${n}`);
      await server.client.must(201, 'POST', `/db${n}/_bulk_docs`, { json: { docs } });
      await server.client.drain('GET', `/db${n}/_all_docs?include_docs=true`);
    }
    const more = anonymousMemory(server.pid) - before;
    assert.isAtMost(more, PAGE_CACHE_BYTES + 150_000_000, `${megabytes(more)} for 500 databases and the cache`);
  });

  test('of twelve views whose sandboxes each take all they can is bounded', { timeout }, async () => {
    server = await AttackedServer.start({ settings: ['svc/os_process_timeout=1000'] });
    await server.client.must(201, 'PUT', '/db');
    await server.client.must(201, 'PUT', '/db/doc', { json: {} });
    const map =
      'function () { if (typeof kept === "undefined") kept = []; for (;;) kept.push(new Array(1000000).join("x") + kept.length); }';
    const { before, highest } = await highestMemory(server.pid, async () => {
      for (let n = 0; n < 12; n++) {
        await server.client.must(201, 'PUT', `/db/_design/d${n}`, {
          json: { views: { v: { map: `${map} // ${n}` } } },
        });
      }
      const ask = (n: number) => server.client.ask('GET', `/db/_design/d${n}/_view/v`);
      await Promise.all(Array.from({ length: 12 }, (_, n) => ask(n)));
    });
    // Half of what the twelve would like to have.
    assert.isAtMost(highest - before, 800_000_000, `${megabytes(highest - before)} for all sandboxes`);
  });
});

/** Sends a request, waits until the answer has begun, and reads nothing more of it. */
function askWithoutReading(path: string): Promise<Socket> {
  const { hostname, port } = server.url;
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on('error', reject);
    socket.on('readable', () => resolve(socket));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  });
}
