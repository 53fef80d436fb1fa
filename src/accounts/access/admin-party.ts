/** Whether the service has a server admin. As long as it has none, everyone is a server admin. */
import type { ConfigStore } from '../../base/system/contract.ts';

const SECTION = 'admins';

export class AdminParty {
  readonly #names: Set<string>;

  constructor(config: ConfigStore) {
    this.#names = new Set(Object.keys(config.section(SECTION)));
    config.onChange(({ section, key, value }) => {
      if (section !== SECTION) return;
      if (value === undefined) this.#names.delete(key);
      else this.#names.add(key);
    });
  }

  get isOn(): boolean {
    return this.#names.size === 0;
  }
}
