/** The entry of a page's worker: offers the endpoint to the page, and does nothing until the page opens it. */
import { expose } from 'comlink';
import type { Config } from '../../base/system/contract.ts';
import { createBusyPoll } from './busy-poll.ts';
import { createFileLoader } from './deferred-file.ts';
import { servePageCalls } from './page-calls.ts';
import { createSandboxPort } from './sandbox-ports.ts';
import { SandboxStart } from './sandbox-start.ts';
import { WorkerEndpoint } from './worker-endpoint.ts';

/**
 * Three things are only done in Chromium. Between a service worker and this one a port takes a fifth of a millisecond less than a channel for
 * each request; in Firefox and WebKit it takes from a fifth to half a millisecond more. Busy polling does not help those. And they have no
 * files that several workers can write synchronously.
 */
const isChromium = 'userAgentData' in navigator;

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
  sendKeepAlive: (message) => self.postMessage(message),
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
