import type { Settings } from '../system/contract.ts';

/** What keeps settings from one opening of the service to the next: an INI file, a document. One at a time uses it, one call after another. */
export interface ConfigStorage {
  /** What is kept. Fails with `bad_request` where a person wrote what can't be read. */
  load(): Promise<Settings>;
  /** Keeps a value, or nothing where it is undefined. Resolves when that would survive a crash; where it rejects, the old value is kept. */
  write(section: string, key: string, value: string | undefined): Promise<void>;
}
