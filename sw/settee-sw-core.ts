/**
 * The core for a service worker, which imports this script when there is no page to own the storage. `settee/msw` also imports it, for a core
 * in memory: it runs wherever JavaScript does.
 */
import { PROTOCOL } from '../src/browser/bridge/wire.ts';
import { MemoryService } from '../src/browser/msw/memory-service.ts';
import type { CoreScript } from '../src/browser/sw/contract.ts';
import { createServiceWorkerFunctions } from '../src/browser/worker/browser-functions.ts';
import { loaded as journalFiles } from '../src/browser/worker/browser-journal-files.ts';
import { StorageOwner } from '../src/browser/worker/storage-owner.ts';

declare const self: ServiceWorkerGlobalScope;

/** A service worker may load nothing more once it is installed, so this script contains everything. */
const functions = createServiceWorkerFunctions();
const deferred = () => functions;
const loadJournalFiles = async () => journalFiles;

const setteeCore: CoreScript = {
  protocol: PROTOCOL,
  createOwner: ({ instance, settings }) =>
    new StorageOwner({
      instance,
      kind: 'service-worker',
      locks: self.navigator.locks,
      settings,
      deferred,
      journalFiles: loadJournalFiles,
      network: self,
    }),
};

Object.assign(globalThis, { setteeCore, setteeMemory: { MemoryService } });
