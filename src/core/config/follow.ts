import { integerSetting } from '../../base/system/config.ts';
import type { ConfigStore } from '../../base/system/contract.ts';

/** Calls `use` now, and with each change, with the effective number; undefined if the setting is unset. Returns a function that ends it. */
export function followInteger(
  config: ConfigStore,
  section: string,
  key: string,
  use: (value: number | undefined) => void,
): () => void {
  const tell = () => use(integerSetting(config, section, key));
  tell();
  return config.onChange((change) => {
    if (change.section === section && change.key === key) tell();
  });
}
