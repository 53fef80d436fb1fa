import { createWorkers } from '../../../src/browser/worker/browser-functions.ts';
import { createNestedWorker } from '../../../src/browser/worker/sandbox-start.ts';
import { createIndexedDbPageStore } from '../../../src/storage/indexeddb/indexeddb-page-store.ts';
import { CoreHost, type Storage } from '../../support/conformance/core-host.ts';
import { newOutcome } from '../outcome.ts';
import { runHttpSuite } from '../suite-run.ts';

/** Runs the HTTP suite on a core on this browser's IndexedDB, through its one door, and posts the outcome as it grows. */
async function newStorage(): Promise<Storage> {
  const prefix = `suite:${crypto.randomUUID()}|`;
  return { open: () => createIndexedDbPageStore({ prefix }), remove: () => Promise.resolve() };
}

/** Among the built files, which lie in the root. */
async function loadWasm(): Promise<Uint8Array<ArrayBuffer>> {
  const answer = await fetch('/settee-quickjs.wasm');
  return new Uint8Array(await answer.arrayBuffer());
}

/** Among them, too. */
const createNestedWorkers: typeof createWorkers = (config, log) =>
  createWorkers(config, log, () => createNestedWorker(new URL('/settee-sandbox.js', self.location.href)));

const outcome = newOutcome();
const host = await CoreHost.start({
  name: 'core on IndexedDB',
  newStorage,
  loadWasm,
  createWorkers: createNestedWorkers,
});
await runHttpSuite(host, 'all', outcome, () => postMessage(outcome));
