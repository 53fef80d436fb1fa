/**
 * Which settings there are, what holds where nothing was set, and which values each can have. docs/http.md#settings says what they mean; a
 * test holds both to each other.
 */
import { DatabaseError } from '../errors/database-error.ts';
import {
  AUTHENTICATION_HANDLERS,
  addressListSetting,
  choiceSetting,
  choicesSetting,
  integerSetting,
  portSetting,
  positiveSetting,
  sandboxMemoryBytes,
  UUID_ALGORITHMS,
} from '../system/config.ts';
import type { Config, Settings } from '../system/contract.ts';
import { LOG_LEVELS } from '../system/log.ts';
import { sampleWindows } from '../system/sample-settings.ts';

/** Reads a setting as whoever uses it does. Fails with `bad_request` on a value that it can't have. */
type Check = (config: Config, section: string, key: string) => unknown;

const SETTING_NAME = /^[^\s/[\]{}]+\/[^\s[\]{}]+$/;

interface Known {
  /** Undefined: unset. */
  readonly value?: string;
  readonly check?: Check;
}

function choice(...choices: readonly string[]): Check {
  return (config, section, key) => choiceSetting(config, section, key, choices);
}

const integer: Check = integerSetting;
const positive: Check = positiveSetting;
const boolean = choice('true', 'false');

/** Not to everybody with credentials: every page could act as whoever is logged in. */
const sharing: Check = (config) => {
  choiceSetting(config, 'cors', 'credentials', ['true', 'false']);
  const origins = (config.get('cors', 'origins') ?? '').split(',').map((origin) => origin.trim());
  if (!origins.includes('*') || config.get('cors', 'credentials') !== 'true') return;
  const reason =
    'Settings cors/origins and cors/credentials would let every page act as whoever is logged in: name the origins, or leave credentials off.';
  throw new DatabaseError('bad_request', reason);
};

/** With a name that is none, nobody might be able to log in and put it right. */
const handlers: Check = (config, section, key) => choicesSetting(config, section, key, AUTHENTICATION_HANDLERS);

/** With one in another form, such as other servers have, nobody could change a setting any more, this one included. */
const namesOfSettings: Check = (config, section, key) => {
  const text = config.get(section, key) ?? '';
  if (text.trim() === '' || text.split(',').every((name) => SETTING_NAME.test(name.trim()))) return;
  const reason = `Setting ${section}/${key} is "${text}"; it must be names of settings, such as uuids/max_count, with commas between them.`;
  throw new DatabaseError('bad_request', reason);
};

/** Each bounds the other. */
const ratesAndWindows: Check = (config) => sampleWindows(config);

/** `true`, `false` */
function flag(value: 'true' | 'false'): Known {
  return { value, check: boolean };
}

function number(value: string, check = integer): Known {
  return { value, check };
}

const KNOWN: Readonly<Record<string, Readonly<Record<string, Known>>>> = {
  svc: {
    max_document_size: number('67108864'),
    max_attachment_chunk_size: number('4294967296'),
    max_dbs_open: number('100'),
    page_cache_bytes: number('33554432'),
    os_process_timeout: number('5000'),
    delayed_commits: flag('true'),
    maintenance_mode: { value: 'false', check: choice('false', 'true', 'nolb') },
  },
  stats: {
    rate: number('1000', ratesAndWindows),
    samples: { value: '[0, 60, 300, 900]', check: ratesAndWindows },
  },
  log: {
    level: { value: 'info', check: choice(...LOG_LEVELS) },
    file: {},
    max_bytes: number('10485760', positive),
    max_files: number('5', positive),
  },
  httpd: {
    port: number('5984', portSetting),
    bind_address: { value: '127.0.0.1' },
    authentication_handlers: { value: 'oauth, cookie, default', check: handlers },
    allow_jsonp: flag('false'),
    changes_timeout: number('60000'),
    config_whitelist: { check: namesOfSettings },
    enable_cors: flag('false'),
    max_bytes_in_flight: number('268435456'),
    max_connections: number('2048'),
    max_uri_length: { check: integer },
    secure_rewrites: flag('true'),
    trusted_proxies: { check: addressListSetting },
    vhost_global_handlers: { value: '_utils, _uuids, _session, _oauth, _users' },
    'WWW-Authenticate': {},
    x_forwarded_host: { value: 'X-Forwarded-Host' },
    x_forwarded_proto: { value: 'X-Forwarded-Proto' },
    x_forwarded_ssl: { value: 'X-Forwarded-Ssl' },
  },
  svc_httpd_auth: {
    allow_persistent_cookies: flag('false'),
    auth_cache_size: number('50'),
    authentication_db: { value: '_users' },
    authentication_redirect: { value: '/_utils/session.html' },
    iterations: number('10000', positive),
    pbkdf2_prf: { value: 'sha', check: choice('sha', 'sha256', 'sha512') },
    min_iterations: number('100', positive),
    max_iterations: number('100000', positive),
    proxy_use_secret: flag('false'),
    public_fields: {},
    users_db_public: flag('false'),
    require_valid_user: flag('false'),
    secret: {},
    timeout: number('600', positive),
    x_auth_roles: { value: 'X-Auth-Svc-Roles' },
    x_auth_token: { value: 'X-Auth-Svc-Token' },
    x_auth_username: { value: 'X-Auth-Svc-UserName' },
  },
  svc_httpd_oauth: { use_users_db: flag('false') },
  cors: {
    origins: { check: sharing },
    credentials: { value: 'false', check: sharing },
    methods: {},
    headers: {},
    max_age: number('12345'),
  },
  ssl: { cert_file: {}, key_file: {} },
  csp: {
    attachments_enable: flag('true'),
    attachments_header_value: { value: 'sandbox' },
    showlist_enable: flag('true'),
    showlist_header_value: { value: 'sandbox' },
  },
  attachments: {
    compression_level: number('8'),
    compressible_types: { value: 'text/*, application/javascript, application/json, application/xml' },
  },
  query_server_config: {
    reduce_limit: { value: 'true', check: choice('true', 'false', 'log') },
    memory_bytes: { value: '1073741824', check: sandboxMemoryBytes },
    workers: { check: integer },
  },
  replicator: {
    max_jobs: number('500'),
    interval: number('60000'),
    max_churn: number('20'),
    max_replication_retry_count: number('10'),
    max_history: number('20'),
    max_refused: number('100'),
    worker_batch_size: number('500'),
    worker_processes: number('4'),
    http_connections: number('20'),
    connection_timeout: number('30000'),
    retries_per_request: number('10'),
    checkpoint_interval: number('5000'),
    use_checkpoints: flag('true'),
    max_http_sessions: number('10'),
    max_http_pipeline_size: number('10'),
  },
  uuids: {
    algorithm: { value: 'sequential', check: choice(...UUID_ALGORITHMS) },
    max_count: number('1000'),
    utc_id_suffix: { value: '' },
  },
};

/** Sections whose keys are names that the operator chooses. */
const FREE_SECTIONS =
  /^(?:admins|vhosts|oauth_consumer_secrets|oauth_token_secrets|oauth_token_users|jwt_keys|cors:.+)$/;

/** What holds where nothing was set. */
export const DEFAULT_SETTINGS: Settings = Object.fromEntries(
  Object.entries(KNOWN).map(([section, keys]) => [section, defaultsOf(keys)]),
);

/** Settings of ours that have no default, as `section/key`. */
export const UNSET_BY_DEFAULT: readonly string[] = Object.entries(KNOWN).flatMap(([section, keys]) =>
  Object.entries(keys).flatMap(([key, { value }]) => (value === undefined ? [`${section}/${key}`] : [])),
);

function defaultsOf(keys: Readonly<Record<string, Known>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(keys).flatMap(([key, { value }]) => (value === undefined ? [] : [[key, value]])),
  );
}

function knownSetting(section: string, key: string): Known | undefined {
  if (!Object.hasOwn(KNOWN, section)) return undefined;
  const keys = KNOWN[section] ?? {};
  return Object.hasOwn(keys, key) ? keys[key] : undefined;
}

/** Fails with `bad_request` where the setting has a value that it can't have. */
export function checkSetting(config: Config, section: string, key: string): void {
  knownSetting(section, key)?.check?.(config, section, key);
}

/** Those of the given settings that nothing here reads: most likely they are misspelt. As `section/key`. */
export function unknownSettings(settings: Settings): string[] {
  return Object.entries(settings)
    .filter(([section]) => !FREE_SECTIONS.test(section))
    .flatMap(([section, keys]) => Object.keys(keys).map((key): [string, string] => [section, key]))
    .filter(([section, key]) => knownSetting(section, key) === undefined)
    .map(([section, key]) => `${section}/${key}`);
}
