/** The entry of a page's worker: offers the endpoint to the page, and does nothing until the page opens it. */

import { expose } from 'comlink';
import type { Config } from '../../base/system/contract.ts';
import { createBusyPoll, servePageCalls } from './page-calls.ts';
import { createSandboxPort, SandboxStart } from './sandbox-start.ts';
import { WorkerEndpoint } from './worker-endpoint.ts';

/**
 * Three things are only done in Chromium. Between a service worker and this one a port takes a fifth of a millisecond less than a channel for
 * each request; in Firefox and WebKit it takes from a fifth to half a millisecond more. Busy polling does not help those. And they have no
 * files that several workers can write synchronously.
 */
const isChromium = 'userAgentData' in navigator;

/** How many attempts to load a file follow each other immediately: a connection may break, and a server may be busy. */
const ATTEMPTS = 2;

const journalFiles = isChromium
  ? createFileLoader('settee-journal.js', () => import('./browser-journal-files.ts'))
  : undefined;
// Loaded right away: a worker that takes a file over needs them, and by then the network or this version of them may be gone.
journalFiles?.().catch(() => undefined);

const sandbox = new SandboxStart(() => createSandboxPort());
const loadFunctions = createFileLoader('settee-functions.js', () => import('./browser-functions.ts'));

const endpoint = new WorkerEndpoint({
  address: self.location.href,
  locks: navigator.locks,
  indexedDB: indexedDbOfBrowser(),
  network: self,
  deferred: Object.assign(async () => (await loadFunctions())(sandbox), {
    expectFunctions: (config: Config) => sandbox.begin(config),
  }),
  journalFiles,
  offerPort: isChromium ? (offer, port) => self.postMessage(offer, [port]) : undefined,
  sendAlive: (message) => self.postMessage(message),
  tellReplication: (message) => self.postMessage(message),
  tellOutdated: (message) => self.postMessage(message),
  tellCleared: (message) => self.postMessage(message),
});
servePageCalls(self, endpoint, isChromium ? createBusyPoll() : undefined);
expose(endpoint);

/** Undefined if there is none; if the site's data are blocked, some browsers already throw when it is looked up. */
function indexedDbOfBrowser(): IDBFactory | undefined {
  try {
    return self.indexedDB;
  } catch {
    return undefined;
  }
}

/** A file that is loaded on first use exports its content under this name. */
interface DeferredFile<T> {
  readonly loaded: T;
}

/**
 * Loads a file that lies beside the worker's script. Some browsers remember for as long as the worker lives that an address could not be
 * imported, so that each further attempt has an address of its own.
 *
 * @param name of the file.
 * @param load imports it, for the first time.
 */
function createFileLoader<T>(name: string, load: () => Promise<DeferredFile<T>>): () => Promise<T> {
  let failures = 0;
  return async () => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const file = failures === 0 ? await load() : await importAgain<T>(name, failures);
        return file.loaded;
      } catch (error) {
        failures += 1;
        if (attempt < ATTEMPTS) continue;
        const remedy = `${name} must be in the same folder as the worker's script, and of the same version`;
        throw new Error(`${remedy}. Try again; if that does not help, reload the page. (${error})`, { cause: error });
      }
    }
  };
}

function importAgain<T>(name: string, attempt: number): Promise<DeferredFile<T>> {
  return import(/* @vite-ignore */ new URL(`${name}?attempt=${attempt}`, self.location.href).href);
}
