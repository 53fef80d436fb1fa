/**
 * How the values of settings are read (docs/http.md#settings): they are strings, parsed by whoever needs them. Each fails with `bad_request`
 * on a value that the setting can't have, which the configuration asks before it takes one.
 */
import { DatabaseError } from '../errors/database-error.ts';
import type { Config } from './contract.ts';

/** Those that find out who sent a request. */
export const AUTHENTICATION_HANDLERS = ['oauth', 'cookie', 'proxy', 'default', 'jwt'] as const;

export const UUID_ALGORITHMS = ['sequential', 'random', 'utc_random', 'utc_id'] as const;

/** A whole number from 0 up, or undefined where the setting is unset. Fails with `bad_request` on any other text. */
export function integerSetting(config: Config, section: string, key: string): number | undefined {
  return wholeNumber(config, section, key, 0);
}

function wholeNumber(config: Config, section: string, key: string, least: 0 | 1): number | undefined {
  const text = config.get(section, key);
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new DatabaseError(
    'bad_request',
    `Setting ${section}/${key} is "${text}"; it must be a whole number from ${least} up.`,
  );
}

/** A TCP port; 0 stands for any free one. Fails with `bad_request` on what can't be one, and where the setting is unset. */
export function portSetting(config: Config): number {
  const port = integerSetting(config, 'httpd', 'port');
  if (port !== undefined && port <= 65_535) return port;
  const reason = `Setting httpd/port is "${config.get('httpd', 'port') ?? ''}"; it must be a whole number from 0 to 65535.`;
  throw new DatabaseError('bad_request', reason);
}

/** As `integerSetting`, from 1 up. */
export function positiveSetting(config: Config, section: string, key: string): number | undefined {
  return wholeNumber(config, section, key, 1);
}

/** One of the given texts. Fails with `bad_request` on any other, and where the setting is unset. */
export function choiceSetting<T extends string>(
  config: Config,
  section: string,
  key: string,
  choices: readonly T[],
): T {
  const text = config.get(section, key);
  const chosen = choices.find((choice) => choice === text);
  if (chosen !== undefined) return chosen;
  throw new DatabaseError(
    'bad_request',
    `Setting ${section}/${key} is "${text ?? ''}"; it must be one of ${choices.join(', ')}.`,
  );
}

/** Some of the given texts, at least one, separated by commas. Fails with `bad_request` on any other. */
export function choicesSetting(
  config: Config,
  section: string,
  key: string,
  choices: readonly string[],
): readonly string[] {
  const text = config.get(section, key) ?? '';
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => choices.includes(name))) return names;
  const known = choices.join(', ');
  throw new DatabaseError('bad_request', `Setting ${section}/${key} is "${text}"; it must be a list of ${known}.`);
}

/** IP addresses, separated by commas; none where the setting is unset. Fails with `bad_request` on what can't be one. */
export function addressListSetting(config: Config, section: string, key: string): readonly string[] {
  const addresses = (config.get(section, key) ?? '').split(',').map((address) => address.trim());
  return addresses.filter((address) => address !== '' && assertAddress(address, `${section}/${key}`));
}

function assertAddress(text: string, name: string): boolean {
  if (/^(?:\d{1,3}(?:\.\d{1,3}){3}|(?=.*:.*:)[\da-f:.]{2,45})$/i.test(text)) return true;
  const reason = `Setting ${name} names "${text}"; it must be a list of IP addresses with commas between them, such as 127.0.0.1,::1.`;
  throw new DatabaseError('bad_request', reason);
}

/** Two threads with an isolate or two each. */
const LEAST_SANDBOX_BYTES = 96 * 1024 * 1024;

/** What the sandboxes of all functions of design documents may take together. Fails with `bad_request` where that is too little. */
export function sandboxMemoryBytes(config: Config): number | undefined {
  const bytes = integerSetting(config, 'query_server_config', 'memory_bytes');
  if (bytes === undefined || bytes >= LEAST_SANDBOX_BYTES) return bytes;
  throw new DatabaseError(
    'bad_request',
    `Setting query_server_config/memory_bytes is "${bytes}"; it must be at least ${LEAST_SANDBOX_BYTES}.`,
  );
}

const DEFAULT_FUNCTION_TIMEOUT_MS = 5_000;

/** How long a function of a design document may run, in milliseconds. Unset, and 0, mean the default. */
export function functionTimeoutMs(config: Config): number {
  return integerSetting(config, 'svc', 'os_process_timeout') || DEFAULT_FUNCTION_TIMEOUT_MS;
}

/** True only for the text `true`. */
export function booleanSetting(config: Config, section: string, key: string): boolean {
  return config.get(section, key) === 'true';
}
