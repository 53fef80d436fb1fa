/** The entry of a page's worker: offers the door to the page, and does nothing until the page opens it. */
import { expose } from 'comlink';
import { PageDoor } from './page-door.ts';

expose(new PageDoor({ origin: self.location.origin, locks: navigator.locks, indexedDB: self.indexedDB }));
