/**
 * Owns the settings: what the operator gave, over the defaults below. Names are those of the configuration interface
 * (docs/http.md#settings). Values are strings, as there, and are parsed by whoever reads them, through
 * `integerSetting` and `booleanSetting`.
 */
import { DatabaseError } from '../errors/database-error.ts';
import type { Config } from './contract.ts';

/** Settings by section and key. */
export type Settings = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * What holds where nothing was set.
 * - `svc/max_document_size`: bytes of a request's JSON text, inflated. Larger ones don't fit a JavaScript heap well.
 * - `svc/max_attachment_chunk_size`: bytes of an attachment.
 * - `svc/max_dbs_open`: databases kept open though nobody uses them.
 * - `svc/page_cache_bytes`: bytes of tree nodes and body pages that all open databases and their views together keep for reading.
 * - `svc/os_process_timeout`: milliseconds that a function of a design document has for one document, reduction or request.
 * - `httpd/max_uri_length`: characters of a request's address; unset means no limit of our own.
 * - `httpd/max_bytes_in_flight`: bytes of memory for requests and answers under way; who comes then waits, at last in vain.
 * - `httpd/max_connections`: connections that the Node server holds at a time; 0 means no limit.
 * - `httpd/changes_timeout`: milliseconds that a feed without heartbeats waits at most for the next change.
 * - `httpd/trusted_proxies`: IP addresses of proxies whose `X-Forwarded-…` headers are believed; unset means none.
 * - `httpd/allow_jsonp`: whether `?callback=` is honoured.
 * - `httpd/secure_rewrites`: whether rewrite rules may lead no further up than their database.
 * - `attachments/compression_level`: 0 stores all attachments as they come; any other level compresses those of compressible types.
 * - `attachments/compressible_types`: content types, separated by commas; `text/*` stands for all that begin with `text/`.
 * - `query_server_config/reduce_limit`: `true` refuses results of reduces that do not shrink, `log` only logs them, `false` takes them.
 * - `query_server_config/workers`: threads in which functions of documents run; unset means as many as there are processors.
 * - `query_server_config/memory_bytes`: memory that the sandboxes of all functions of design documents take together.
 * - `uuids/algorithm`: `sequential`, `random`, `utc_random` or `utc_id`.
 * - `uuids/max_count`: ids that one `_uuids` request may ask for.
 * - `uuids/utc_id_suffix`: what ids made by `utc_id` end in.
 */
export const DEFAULT_SETTINGS: Settings = {
  svc: {
    max_document_size: '67108864',
    max_attachment_chunk_size: '4294967296',
    max_dbs_open: '100',
    page_cache_bytes: '33554432',
    os_process_timeout: '5000',
  },
  httpd: {
    max_bytes_in_flight: '268435456',
    max_connections: '2048',
    changes_timeout: '60000',
    allow_jsonp: 'false',
    secure_rewrites: 'true',
  },
  attachments: {
    compression_level: '8',
    compressible_types: 'text/*, application/javascript, application/json, application/xml',
  },
  query_server_config: { reduce_limit: 'true', memory_bytes: '1073741824' },
  uuids: { algorithm: 'sequential', max_count: '1000', utc_id_suffix: '' },
};

const UNSET_BY_DEFAULT = ['httpd/max_uri_length', 'httpd/trusted_proxies', 'query_server_config/workers'];

export const UUID_ALGORITHMS = ['sequential', 'random', 'utc_random', 'utc_id'] as const;

/** The given settings over the defaults. Fails with `bad_request` where one of ours has a value it can't have. */
export function createConfig(settings: Settings = {}): Config {
  const sections = new Map<string, Map<string, string>>();
  for (const layer of [DEFAULT_SETTINGS, settings]) {
    for (const [section, keys] of Object.entries(layer)) {
      const values = new Map([...(sections.get(section) ?? []), ...Object.entries(keys)]);
      sections.set(section, values);
    }
  }
  const config: Config = { get: (section, key) => sections.get(section)?.get(key) };
  checkSettings(config);
  return config;
}

/** Those of the given settings that nothing here reads: most likely they are misspelt. As `section/key`. */
export function unknownSettings(settings: Settings): string[] {
  const known = new Set([...UNSET_BY_DEFAULT, ...namesOf(DEFAULT_SETTINGS)]);
  return namesOf(settings).filter((name) => !known.has(name));
}

function namesOf(settings: Settings): string[] {
  return Object.entries(settings).flatMap(([section, keys]) => Object.keys(keys).map((key) => `${section}/${key}`));
}

/** A whole number from 0 up, or undefined where the setting is unset. Fails with `bad_request` on any other text. */
export function integerSetting(config: Config, section: string, key: string): number | undefined {
  const text = config.get(section, key);
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new DatabaseError(
    'bad_request',
    `Setting ${section}/${key} is "${text}"; it must be a whole number from 0 up.`,
  );
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

/** A value that can't be read is reported at start, rather than to the client of a later request. */
function checkSettings(config: Config): void {
  integerSetting(config, 'svc', 'max_document_size');
  integerSetting(config, 'svc', 'max_dbs_open');
  integerSetting(config, 'svc', 'page_cache_bytes');
  integerSetting(config, 'svc', 'os_process_timeout');
  integerSetting(config, 'httpd', 'max_bytes_in_flight');
  integerSetting(config, 'httpd', 'changes_timeout');
  integerSetting(config, 'httpd', 'max_connections');
  integerSetting(config, 'httpd', 'max_uri_length');
  addressListSetting(config, 'httpd', 'trusted_proxies');
  integerSetting(config, 'query_server_config', 'workers');
  sandboxMemoryBytes(config);
  integerSetting(config, 'uuids', 'max_count');
  choiceSetting(config, 'uuids', 'algorithm', UUID_ALGORITHMS);
  choiceSetting(config, 'httpd', 'allow_jsonp', ['true', 'false']);
  choiceSetting(config, 'httpd', 'secure_rewrites', ['true', 'false']);
  choiceSetting(config, 'query_server_config', 'reduce_limit', ['true', 'false', 'log']);
}
