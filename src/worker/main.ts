/** The entry of a page's worker: offers the door to the page, and does nothing until the page opens it. */
import { expose } from 'comlink';
import { createFunctionLoader } from './function-file.ts';
import { servePageCalls } from './page-calls.ts';
import { PageDoor } from './page-door.ts';

const { origin } = self.location;
const functions = createFunctionLoader();
const door = new PageDoor({
  origin,
  locks: navigator.locks,
  indexedDB: self.indexedDB,
  functions,
  offerPort: (offer, port) => self.postMessage(offer, [port]),
  giveSignOfLife: (sign) => self.postMessage(sign),
});
expose(door);
servePageCalls(self, door);
