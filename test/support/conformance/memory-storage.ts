import { createMemoryPageStore, MemoryMedium } from '../../../src/storage/memory-page-store.ts';
import type { Storage } from './core-host.ts';

/** Storage for a host that is empty at first, and lasts as long as the host. */
export async function memoryStorage(): Promise<Storage> {
  const medium = new MemoryMedium();
  return { open: () => createMemoryPageStore({ medium }), remove: () => Promise.resolve() };
}
