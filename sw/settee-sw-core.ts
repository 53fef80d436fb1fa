/** The core for a service worker, which imports this script when no page is there to own the storage. */
import { PROTOCOL } from '../src/bridge/wire.ts';
import type { CoreScript } from '../src/sw/contract.ts';
import { StorageOwner } from '../src/worker/storage-owner.ts';

declare const self: ServiceWorkerGlobalScope;

const setteeCore: CoreScript = {
  protocol: PROTOCOL,
  createOwner: ({ instance, settings }) =>
    new StorageOwner({ instance, kind: 'service-worker', locks: self.navigator.locks, settings }),
};

Object.assign(self, { setteeCore });
