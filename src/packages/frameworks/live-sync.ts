import type { Sync, SyncStatus } from '../database-client/sync/contract.ts';
import type { Followable } from './live-value.ts';

/** The status of a sync, as frameworks follow it. No sync has no status: an app without a user has none, nor has a page that a server renders. */
export function followSync(sync: Sync | undefined): Followable<SyncStatus | undefined> {
  return {
    get: () => sync?.status(),
    subscribe: (listener) => {
      const own = () => listener();
      sync?.addEventListener('status', own);
      return () => sync?.removeEventListener('status', own);
    },
  };
}
