import { integerSetting } from './config.ts';
import type { Config } from './contract.ts';

const DEFAULT_FUNCTION_TIMEOUT_MS = 5_000;

/** How long a function of a design document may run, in milliseconds. Unset, and 0, mean the default. */
export function functionTimeoutMs(config: Config): number {
  return integerSetting(config, 'svc', 'os_process_timeout') || DEFAULT_FUNCTION_TIMEOUT_MS;
}
