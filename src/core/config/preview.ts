/** Settings with one that differs, to see the consequences. They are read-only. */
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { ConfigStore, SettingName, Settings } from '../../base/system/contract.ts';

export class Preview implements ConfigStore {
  readonly #config: ConfigStore;
  readonly #name: SettingName;
  readonly #value: string | undefined;

  constructor(config: ConfigStore, name: SettingName, value: string | undefined) {
    this.#config = config;
    this.#name = name;
    this.#value = value;
  }

  get(section: string, key: string): string | undefined {
    const isOther = section === this.#name.section && key === this.#name.key;
    return isOther ? this.#value : this.#config.get(section, key);
  }

  ownName(section: string, key: string): SettingName {
    return this.#config.ownName(section, key);
  }

  section(name: string): Readonly<Record<string, string>> {
    const keys = new Map(Object.entries(this.#config.section(name)));
    if (name !== this.#name.section) return Object.fromEntries(keys);
    if (this.#value === undefined) keys.delete(this.#name.key);
    else keys.set(this.#name.key, this.#value);
    return Object.fromEntries(keys);
  }

  sections(): Settings {
    const names = new Set([...Object.keys(this.#config.sections()), this.#name.section]);
    return Object.fromEntries([...names].map((name) => [name, this.section(name)]));
  }

  preview(): ConfigStore {
    throw changesNothing();
  }

  async set(): Promise<never> {
    throw changesNothing();
  }

  async delete(): Promise<never> {
    throw changesNothing();
  }

  onChange(): () => void {
    return () => undefined;
  }
}

function changesNothing(): DatabaseError {
  return new DatabaseError('modification_not_allowed', 'A preview of settings is not changed.');
}
