import { randomHex } from '../../base/shared/bytes.ts';
import { systemRandom } from '../../base/shared/clock.ts';
import type { Log } from '../../base/system/contract.ts';
import type { SettingsStore } from '../../core/config/config-store.ts';
import type { Registry } from '../../database/registry/contract.ts';

/** The note with the list of databases that names the version of the settings. */
const NOTE = 'settings version';
const ID_BYTES = 8;

/**
 * Names the present settings, for processes that read the same databases. The name of the next ones is stored before they are effective: a process
 * that reads it there, and does not have the settings of that name yet, leaves its requests to the owner.
 */
export class SettingsVersion {
  #current = '';

  /** Of the settings that are effective now; empty if they have none. */
  get current(): string {
    return this.#current;
  }

  /** Begins to name settings. If nothing can be stored they have no name, and readers answer nothing. */
  async follow(settings: SettingsStore, registry: Pick<Registry, 'keepNote'>, log: Log): Promise<void> {
    this.#current = '';
    const announce = async () => {
      const next = randomHex(systemRandom, ID_BYTES);
      await registry.keepNote(NOTE, next);
      return () => {
        this.#current = next;
      };
    };
    settings.announceTo(announce);
    try {
      (await announce())();
    } catch (error) {
      log.error('The settings could not be announced to readers, which therefore forward all requests.', error);
    }
  }
}

/** Whether settings of that name are the present ones, as the texts with the list of databases say. */
export function isPresentVersion(version: string, notes: ReadonlyMap<string, string>): boolean {
  return version !== '' && notes.get(NOTE) === version;
}
