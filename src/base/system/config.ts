/**
 * Parses values of settings (docs/http/server.md#settings), which are strings, where they are needed. Each function fails with `bad_request`
 * on a value that the setting can't have, and the configuration calls it before it accepts a value.
 */
import { DatabaseError } from '../errors/database-error.ts';
import type { Config, ConfigStore } from './contract.ts';

/** The handlers that determine who sent a request. */
const AUTHENTICATION_HANDLERS = ['oauth', 'cookie', 'proxy', 'default', 'jwt'] as const;

export const UUID_ALGORITHMS = ['sequential', 'random', 'utc_random', 'utc_id'] as const;

/** In place of a number: no limit. */
export const NO_LIMIT = 'infinity';

/** Returns a whole number from 0 up, or undefined if the setting is unset. Fails with `bad_request` on any other text. */
export function integerSetting(config: Config, section: string, key: string): number | undefined {
  return wholeNumber(config, section, key, 0);
}

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

function wholeNumber(config: Config, section: string, key: string, least: 0 | 1): number | undefined {
  const text = config.get(section, key);
  if (text === undefined || text === '') return undefined;
  if (text === NO_LIMIT) return Number.MAX_SAFE_INTEGER;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw settingRefusal(`${section}/${key}`, text, `a whole number from ${least} up`);
}

/** Returns a TCP port; 0 means any free one. Fails with `bad_request` on an invalid port, and if the setting is unset. */
export function portSetting(config: Config): number {
  const port = integerSetting(config, 'httpd', 'port');
  if (port !== undefined && port <= 65_535) return port;
  throw settingRefusal('httpd/port', config.get('httpd', 'port') ?? '', 'a whole number from 0 to 65535');
}

/** Like `integerSetting`, from 1 up. */
export function positiveSetting(config: Config, section: string, key: string): number | undefined {
  return wholeNumber(config, section, key, 1);
}

/** Returns one of the given texts. Fails with `bad_request` on any other, and if the setting is unset. */
export function choiceSetting<T extends string>(
  config: Config,
  section: string,
  key: string,
  choices: readonly T[],
): T {
  const text = config.get(section, key);
  const chosen = choices.find((choice) => choice === text);
  if (chosen !== undefined) return chosen;
  throw settingRefusal(`${section}/${key}`, text ?? '', `one of ${choices.join(', ')}`);
}

/** A handler as configuration files of the family name it, such as `{chttpd_auth, cookie_authentication_handler}`. */
const FAMILY_HANDLER = /\{\s*\w+\s*,\s*([a-z]+)_authentication_handler\s*\}/g;

/** Returns whether that handler accepts names and passwords, directly or through a session. */
export function takesPasswords(handler: string): boolean {
  return handler === 'cookie' || handler === 'default';
}

/** Returns the handlers that determine who sent a request, at least one, in the order in which they run. Fails with `bad_request` on any other. */
export function authenticationHandlers(config: Config): readonly string[] {
  const text = config.get('httpd', 'authentication_handlers') ?? '';
  const known: readonly string[] = AUTHENTICATION_HANDLERS;
  const names = text.replace(FAMILY_HANDLER, '$1').split(',');
  const trimmed = names.map((name) => name.trim());
  if (trimmed.every((name) => known.includes(name))) return trimmed;
  throw settingRefusal('httpd/authentication_handlers', text, `a list of ${known.join(', ')}`);
}

const SETTING_NAME = /^[^\s/[\]{}]+\/[^\s[\]{}]+$/;
/** A name as configuration files of the family write it: `{section,key}`, each possibly as `"text"` or `<<"text">>`. */
const FAMILY_NAME = /\{\s*(?:<<)?"?([^\s"<>{},/]+)"?(?:>>)?\s*,\s*(?:<<)?"?([^\s"<>{},]+)"?(?:>>)?\s*\}/g;

/** Returns the names of settings, `section/key`, that can be changed over HTTP; undefined if all can. Fails with `bad_request` on other texts. */
export function whitelistSetting(config: Config): readonly string[] | undefined {
  const text = config.get('httpd', 'config_whitelist');
  if (text === undefined || text.trim() === '') return text === undefined ? undefined : [];
  const isFamily = text.includes('{');
  const list = isFamily ? text.replace(/^\s*\[(.*)\]\s*$/, '$1').replace(FAMILY_NAME, '$1/$2') : text;
  const names = list.split(',').map((name) => name.trim());
  if (names.every((name) => SETTING_NAME.test(name))) return names;
  const rule = 'names of settings, such as uuids/max_count, with commas between them';
  throw settingRefusal('httpd/config_whitelist', text, rule);
}

/** Returns IP addresses from a comma-separated list; none if the setting is unset. Fails with `bad_request` on an invalid address. */
export function addressListSetting(config: Config, section: string, key: string): readonly string[] {
  const addresses = (config.get(section, key) ?? '').split(',').map((address) => address.trim());
  return addresses.filter((address) => address !== '' && assertAddress(address, `${section}/${key}`));
}

/**
 * Returns the sender's IP address: behind proxies that `httpd/trusted_proxies` names, the client address that they report. Empty if
 * unknown. `forwarded`: the header `X-Forwarded-For`.
 */
export function clientAddressOf(config: Config, peer: string | undefined, forwarded: string | undefined): string {
  if (peer === undefined || forwarded === undefined) return peer ?? '';
  const trusted = addressListSetting(config, 'httpd', 'trusted_proxies');
  // Each proxy appends the address of its client: the last address that is not one of our proxies is the client.
  const hops = [...forwarded.split(',').map((hop) => hop.trim()), peer];
  return hops.reverse().find((hop, index) => !trusted.includes(hop) || index === hops.length - 1) ?? peer;
}

function assertAddress(text: string, name: string): boolean {
  if (/^(?:\d{1,3}(?:\.\d{1,3}){3}|(?=.*:.*:)[\da-f:.]{2,45})$/i.test(text)) return true;
  const reason = `Setting ${name} names "${text}"; it must be a list of IP addresses with commas between them, such as 127.0.0.1,::1.`;
  throw new DatabaseError('bad_request', reason);
}

/** Enough for two threads with one or two isolates each. */
export const MIN_SANDBOX_BYTES = 96 * 1024 * 1024;

/** Returns how much memory the sandboxes of all design document functions may take together. Fails with `bad_request` if that is too little. */
export function sandboxMemoryBytes(config: Config): number | undefined {
  const bytes = integerSetting(config, 'query_server_config', 'memory_bytes');
  if (bytes === undefined || bytes >= MIN_SANDBOX_BYTES) return bytes;
  throw settingRefusal('query_server_config/memory_bytes', `${bytes}`, `at least ${MIN_SANDBOX_BYTES}`);
}

const DEFAULT_FUNCTION_TIMEOUT_MS = 5_000;

/** Returns how long a function of a design document may run, in milliseconds. Unset, and 0, mean the default. */
export function functionTimeoutMs(config: Config): number {
  return integerSetting(config, 'svc', 'os_process_timeout') || DEFAULT_FUNCTION_TIMEOUT_MS;
}

/** Returns true only for the text `true`. */
export function booleanSetting(config: Config, section: string, key: string): boolean {
  return config.get(section, key) === 'true';
}

/** Returns whether anonymous clients are refused. `_up`, `_session` and `_utils` stay open under both names: load balancers and log-ins are anonymous. */
export function requiresValidUser(config: Config): boolean {
  return (
    booleanSetting(config, 'svc_httpd_auth', 'require_valid_user') ||
    booleanSetting(config, 'svc_httpd_auth', 'require_valid_user_except_for_up')
  );
}

/** Returns the error for a value that the setting can't have. `rule`: what it must be. */
export function settingRefusal(name: string, text: string, rule: string): DatabaseError {
  return new DatabaseError('bad_request', `Setting ${name} is "${text}"; it must be ${rule}.`);
}
