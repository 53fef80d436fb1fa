import { assert } from 'chai';
import { createIndexedDbPageStore } from '../../../src/storage/indexeddb/indexeddb-page-store.ts';
import { CoreHost, type Storage } from '../../support/conformance/core-host.ts';
import { createFaultStore, type FaultOptions, type FaultStore } from '../../support/fault-store.ts';
import { runCases } from '../outcome.ts';

/** A core on this browser's IndexedDB, behind a wrapper that says when it is full, for browsers whose quota no driver sets. */
let isFull = false;
/** The number of the one commit for which it is full, from 1. */
let fullAt: number | undefined;
let commits = () => 0;

async function newStorage(): Promise<Storage> {
  const prefix = `suite:${crypto.randomUUID()}|`;
  return { open: () => open(prefix), remove: () => Promise.resolve() };
}

function open(prefix: string): FaultStore {
  const options: FaultOptions = {
    failOnly: 'commit',
    // While it is full, the one that comes next.
    get failAt() {
      return isFull ? commits() + 1 : fullAt;
    },
  };
  const faulty = createFaultStore(createIndexedDbPageStore({ prefix }), options);
  commits = () => faulty.log.filter((operation) => operation.includes('commit')).length;
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

async function upload(path: string, bytes: Uint8Array): Promise<readonly [number, unknown]> {
  const headers = { 'content-type': 'application/octet-stream' };
  const answer = await host.send({ method: 'PUT', path, headers, body: bytes });
  return [answer.status, JSON.parse(new TextDecoder().decode(answer.bytes))];
}

/** Each commit of an upload fails in its turn: those of its pages, and that of the document. */
async function fillInUpload(): Promise<void> {
  await written('/photos');
  const bytes = new Uint8Array(3_000_000).map((_, index) => (index * 31 + (index >> 8)) % 256);
  let refusals = 0;
  for (let isRefused = true; isRefused; ) {
    fullAt = commits() + refusals + 1;
    const [status, answer] = await upload(`/photos/doc-${refusals}/large`, bytes.subarray(refusals));
    fullAt = undefined;
    isRefused = status !== 201;
    if (!isRefused) break;
    assert.equal(status, 507, JSON.stringify(answer));
    assert.propertyVal(answer, 'error', 'insufficient_storage');
    assert.equal((await request('GET', `/photos/doc-${refusals}`))[0], 404);
    assert.equal((await upload(`/photos/doc-${refusals}/large`, bytes.subarray(refusals)))[0], 201);
    refusals += 1;
  }
  assert.isAtLeast(refusals, 4);
  await host.restart();
  for (let number = 0; number <= refusals; number += 1) {
    const read = await host.send({ method: 'GET', path: `/photos/doc-${number}/large`, headers: {}, body: null });
    assert.equal(read.status, 200);
    assert.isTrue(read.bytes.every((byte, index) => byte === bytes[index + number]));
    assert.lengthOf(read.bytes, bytes.length - number);
  }
}

const cases = [
  { name: 'full: 507, nothing half-written, and it reads on', run: fillAndFree },
  { name: 'full in an upload: 507, and nothing of it is stored', run: fillInUpload },
];
await runCases(cases, (outcome) => postMessage(outcome));
