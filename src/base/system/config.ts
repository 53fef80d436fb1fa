/**
 * How the values of settings are read (docs/http/server.md#settings): they are strings, parsed by whoever needs them. Each fails with `bad_request`
 * on a value that the setting can't have, which the configuration asks before it takes one.
 */
import { DatabaseError } from '../errors/database-error.ts';
import type { Config } from './contract.ts';

/** Those that find out who sent a request. */
export const AUTHENTICATION_HANDLERS = ['oauth', 'cookie', 'proxy', 'default', 'jwt'] as const;

export const UUID_ALGORITHMS = ['sequential', 'random', 'utc_random', 'utc_id'] as const;

/** In the place of a number: without a limit. */
export const NO_LIMIT = 'infinity';

/** A whole number from 0 up, or undefined where the setting is unset. Fails with `bad_request` on any other text. */
export function integerSetting(config: Config, section: string, key: string): number | undefined {
  return wholeNumber(config, section, key, 0);
}

function wholeNumber(config: Config, section: string, key: string, least: 0 | 1): number | undefined {
  const text = config.get(section, key);
  if (text === undefined || text === '') return undefined;
  if (text === NO_LIMIT) return Number.MAX_SAFE_INTEGER;
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

/** A handler as configuration files of the family name it, such as `{chttpd_auth, cookie_authentication_handler}`. */
const FAMILY_HANDLER = /\{\s*\w+\s*,\s*([a-z]+)_authentication_handler\s*\}/g;

/** Whether names and passwords get in by that handler, at once or by a session. */
export function takesPasswords(handler: string): boolean {
  return handler === 'cookie' || handler === 'default';
}

/** Those that find out who sent a request, at least one, in the order in which they are asked. Fails with `bad_request` on any other. */
export function authenticationHandlers(config: Config): readonly string[] {
  const text = config.get('httpd', 'authentication_handlers') ?? '';
  const known: readonly string[] = AUTHENTICATION_HANDLERS;
  const names = text.replace(FAMILY_HANDLER, '$1').split(',');
  const trimmed = names.map((name) => name.trim());
  if (trimmed.every((name) => known.includes(name))) return trimmed;
  const reason = `Setting httpd/authentication_handlers is "${text}"; it must be a list of ${known.join(', ')}.`;
  throw new DatabaseError('bad_request', reason);
}

const SETTING_NAME = /^[^\s/[\]{}]+\/[^\s[\]{}]+$/;
/** A name as configuration files of the family have it: `{section,key}`, each perhaps as `"text"` or `<<"text">>`. */
const FAMILY_NAME = /\{\s*(?:<<)?"?([^\s"<>{},/]+)"?(?:>>)?\s*,\s*(?:<<)?"?([^\s"<>{},]+)"?(?:>>)?\s*\}/g;

/** The names of settings, `section/key`, that can be changed over HTTP; undefined where all can. Fails with `bad_request` on other texts. */
export function whitelistSetting(config: Config): readonly string[] | undefined {
  const text = config.get('httpd', 'config_whitelist');
  if (text === undefined || text.trim() === '') return text === undefined ? undefined : [];
  const isFamily = text.includes('{');
  const list = isFamily ? text.replace(/^\s*\[(.*)\]\s*$/, '$1').replace(FAMILY_NAME, '$1/$2') : text;
  const names = list.split(',').map((name) => name.trim());
  if (names.every((name) => SETTING_NAME.test(name))) return names;
  const reason = `Setting httpd/config_whitelist is "${text}"; it must be names of settings, such as uuids/max_count, with commas between them.`;
  throw new DatabaseError('bad_request', reason);
}

/** IP addresses, separated by commas; none where the setting is unset. Fails with `bad_request` on what can't be one. */
export function addressListSetting(config: Config, section: string, key: string): readonly string[] {
  const addresses = (config.get(section, key) ?? '').split(',').map((address) => address.trim());
  return addresses.filter((address) => address !== '' && assertAddress(address, `${section}/${key}`));
}

/**
 * The IP address of who sent a request: behind proxies that `httpd/trusted_proxies` names that of the client that they tell. Empty where nobody
 * knows. `forwarded`: the header `X-Forwarded-For`.
 */
export function clientAddressOf(config: Config, peer: string | undefined, forwarded: string | undefined): string {
  if (peer === undefined || forwarded === undefined) return peer ?? '';
  const trusted = addressListSetting(config, 'httpd', 'trusted_proxies');
  // Each proxy adds whom it was asked by: the last one that is none of ours is the client.
  const hops = [...forwarded.split(',').map((hop) => hop.trim()), peer];
  return hops.reverse().find((hop, index) => !trusted.includes(hop) || index === hops.length - 1) ?? peer;
}

function assertAddress(text: string, name: string): boolean {
  if (/^(?:\d{1,3}(?:\.\d{1,3}){3}|(?=.*:.*:)[\da-f:.]{2,45})$/i.test(text)) return true;
  const reason = `Setting ${name} names "${text}"; it must be a list of IP addresses with commas between them, such as 127.0.0.1,::1.`;
  throw new DatabaseError('bad_request', reason);
}

/** Two threads with an isolate or two each. */
export const LEAST_SANDBOX_BYTES = 96 * 1024 * 1024;

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

/** Whether anonymous clients are refused. `_up` and `_session` stay open under both names, since load balancers and those who log in are anonymous. */
export function requiresValidUser(config: Config): boolean {
  return (
    booleanSetting(config, 'svc_httpd_auth', 'require_valid_user') ||
    booleanSetting(config, 'svc_httpd_auth', 'require_valid_user_except_for_up')
  );
}
