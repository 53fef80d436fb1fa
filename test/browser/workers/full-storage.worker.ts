import { assert } from 'chai';
import { createIndexedDbPageStore } from '../../../src/storage/indexeddb/indexeddb-page-store.ts';
import { CoreHost, type Storage } from '../../support/conformance/core-host.ts';
import { createFaultStore, type FaultOptions, type FaultStore } from '../../support/fault-store.ts';
import { runCases } from '../outcome.ts';

/** A core on this browser's IndexedDB, behind a wrapper that says when it is full, for browsers whose quota no driver sets. */
let isFull = false;

async function newStorage(): Promise<Storage> {
  const prefix = `suite:${crypto.randomUUID()}|`;
  return { open: () => open(prefix), remove: () => Promise.resolve() };
}

function open(prefix: string): FaultStore {
  const options: FaultOptions = {
    failOnly: 'commit',
    // While it is full, the one that comes next.
    get failAt() {
      return isFull ? faulty.log.filter((operation) => operation.includes('commit')).length + 1 : undefined;
    },
  };
  const faulty = createFaultStore(createIndexedDbPageStore({ prefix }), options);
  return faulty;
}

const host = await CoreHost.start({
  name: 'core on a full IndexedDB',
  newStorage,
  loadWasm: () => Promise.reject(new Error('no function is called here')),
});

async function request(method: string, path: string, json?: unknown): Promise<readonly [number, unknown]> {
  const headers = { 'content-type': 'application/json' };
  const body = json === undefined ? null : JSON.stringify(json);
  const { status, bytes } = await host.send({ method, path, headers, body });
  return [status, JSON.parse(new TextDecoder().decode(bytes))];
}

async function written(path: string, json?: unknown): Promise<void> {
  const [status, answer] = await request('PUT', path, json);
  assert.equal(status, 201, JSON.stringify(answer));
}

async function refused(method: string, path: string, json?: unknown): Promise<void> {
  const [status, answer] = await request(method, path, json);
  assert.equal(status, 507, JSON.stringify(answer));
  assert.propertyVal(answer, 'error', 'insufficient_storage');
}

async function fillAndFree(): Promise<void> {
  await written('/notes');
  await written('/notes/small', { n: 1 });
  isFull = true;
  await refused('PUT', '/notes/large', { text: 'x'.repeat(3_000_000) });
  await refused('PUT', '/notes/other', { n: 2 });
  await refused('POST', '/notes/_bulk_docs', {
    docs: Array.from({ length: 1000 }, (_, n) => ({ _id: `bulk-${n}` })),
  });
  for (const id of ['large', 'other']) assert.equal((await request('GET', `/notes/${id}`))[0], 404);
  assert.deepNestedPropertyVal(await request('GET', '/notes/small'), '[1].n', 1);
  assert.deepNestedPropertyVal(await request('GET', '/notes/_all_docs'), '[1].total_rows', 1);
  isFull = false;
  await written('/notes/large', { text: 'x'.repeat(3_000_000) });
  assert.deepNestedPropertyVal(await request('GET', '/notes/_all_docs'), '[1].total_rows', 2);
  await host.restart();
  assert.deepNestedPropertyVal(await request('GET', '/notes/_all_docs'), '[1].total_rows', 2);
  assert.deepNestedPropertyVal(await request('GET', '/notes/small'), '[1].n', 1);
}

await runCases([{ name: 'full: 507, nothing half-written, and it reads on', run: fillAndFree }], (outcome) =>
  postMessage(outcome),
);
