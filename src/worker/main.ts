/** The entry of a page's worker: offers the door to the page, and does nothing until the page opens it. */
import { expose } from 'comlink';
import { browserEngine } from '../system/browser-engine.ts';
import { createFunctionLoader } from './function-file.ts';
import { servePageCalls } from './page-calls.ts';
import { PageDoor } from './page-door.ts';

/**
 * Between a service worker and this one a port saves Chromium a fifth of a millisecond for each request. To Firefox and WebKit it costs
 * from a fifth to half a millisecond more than a channel.
 */
const isPortQuicker = browserEngine(navigator.userAgent).startsWith('Blink');

const functions = createFunctionLoader();
const door = new PageDoor({
  address: self.location.href,
  locks: navigator.locks,
  indexedDB: self.indexedDB,
  functions,
  offerPort: isPortQuicker ? (offer, port) => self.postMessage(offer, [port]) : undefined,
  giveSignOfLife: (sign) => self.postMessage(sign),
});
servePageCalls(self, door);
expose(door);
