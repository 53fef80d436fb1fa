import type { SettingName, Settings } from '../../base/system/contract.ts';

/** Stores settings from one opening of the service to the next: an INI file, a document. It has one user at a time, with one call after another. */
export interface ConfigStorage {
  /** Returns the stored settings. Fails with `bad_request` if a file edited by hand can't be parsed. */
  load(): Promise<Settings>;
  /**
   * Stores a value, or deletes it if it is undefined. `names` are all names of the setting, our own first. The value is stored under one of them:
   * if a person wrote the setting, under the name that counts there. Deletes the others. Resolves when that would survive a crash.
   * If it rejects, the old value is kept.
   */
  write(names: readonly SettingName[], value: string | undefined): Promise<void>;
}
