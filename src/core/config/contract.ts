import type { SettingName, Settings } from '../../base/system/contract.ts';

/** What keeps settings from one opening of the service to the next: an INI file, a document. One at a time uses it, one call after another. */
export interface ConfigStorage {
  /** What is kept. Fails with `bad_request` where a person wrote what can't be read. */
  load(): Promise<Settings>;
  /**
   * Keeps a value, or nothing where it is undefined. `names` are all names of the setting, our own first. The value is kept under one of them:
   * where a person wrote the setting, under the name that counts there. All others go. Resolves when that would survive a crash; where it rejects, the old value is kept.
   */
  write(names: readonly SettingName[], value: string | undefined): Promise<void>;
}
