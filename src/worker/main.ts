/** The entry of a page's worker: offers the door to the page, and does nothing until the page opens it. */
import { expose } from 'comlink';
import { createWakefulness } from './busy-poll.ts';
import { createFileLoader } from './deferred-file.ts';
import { servePageCalls } from './page-calls.ts';
import { PageDoor } from './worker-endpoint.ts';

/**
 * Between a service worker and this one a port saves Chromium a fifth of a millisecond for each request. To Firefox and WebKit it costs
 * from a fifth to half a millisecond more than a channel. Nor does it help these that a worker stays awake.
 */
const isChromium = 'userAgentData' in navigator;

const journalFiles = isChromium
  ? createFileLoader('settee-journal.js', () => import('./browser-journal-files.ts'))
  : undefined;
// Who takes a file over needs them, perhaps when the network, or this version of them, is gone, or the service worker with its process frozen.
journalFiles?.().catch(() => undefined);

const door = new PageDoor({
  address: self.location.href,
  locks: navigator.locks,
  indexedDB: self.indexedDB,
  deferred: createFileLoader('settee-functions.js', () => import('./browser-functions.ts')),
  journalFiles,
  offerPort: isChromium ? (offer, port) => self.postMessage(offer, [port]) : undefined,
  giveSignOfLife: (sign) => self.postMessage(sign),
});
servePageCalls(self, door, isChromium ? createWakefulness() : undefined);
expose(door);
