/**
 * The known settings, their defaults, and their permitted values. docs/http/server.md#settings says what they mean; a
 * test compares the two.
 */

import { UUID_ALGORITHMS } from '../../base/system/config.ts';
import type { Config, Settings } from '../../base/system/contract.ts';
import * as checks from './setting-checks.ts';
import { type Check, choice, MAX_MS, whole } from './setting-checks.ts';

interface Known {
  /** Undefined: unset by default. */
  readonly value?: string;
  readonly check?: Check;
}

const boolean = choice('true', 'false');

/** `true`, `false` */
function flag(value: 'true' | 'false'): Known {
  return { value, check: boolean };
}

function number(value: string, check = whole()): Known {
  return { value, check };
}

/** For a timer. */
function milliseconds(value: string, least = 1): Known {
  return number(value, whole({ least, most: MAX_MS }));
}

/** A maximum number, in total or at a time. */
function count(value: string, most: number, least = 1): Known {
  return number(value, whole({ least, most }));
}

/** The bytes of a request that corrects the setting itself. */
const MIN_DOCUMENT = 20;
/** Requests that correct settings, and log in, are never refused for their size. */
const MIN_REQUEST = 65_536;
/** The address that corrects the setting itself must not be too long, even below a node and a base path. */
const MIN_URI = 100;
const MIB = 1_048_576;

const KNOWN: Readonly<Record<string, Readonly<Record<string, Known>>>> = {
  svc: {
    max_document_size: number('67108864', whole({ least: MIN_DOCUMENT })),
    max_selector_steps: number('1000000000', whole({ least: 1, mayBeUnlimited: true })),
    max_attachment_chunk_size: number('4294967296', whole({ mayBeUnlimited: true })),
    max_dbs_open: number('100'),
    page_cache_bytes: number('33554432'),
    os_process_timeout: milliseconds('5000', 0),
    delayed_commits: flag('true'),
    maintenance_mode: { value: 'false', check: choice('false', 'true', 'nolb') },
  },
  stats: {
    rate: number('1000', checks.ratesAndWindows),
    samples: { value: '[0, 60, 300, 900]', check: checks.ratesAndWindows },
  },
  log: {
    level: { value: 'info', check: checks.level },
    file: {},
    max_bytes: number('10485760', whole({ least: 1 })),
    max_files: count('5', 1_000),
    requests: { value: 'false', check: choice('false', 'true', 'json') },
    format: { value: 'text', check: choice('text', 'json') },
  },
  httpd: {
    port: number('5984', whole({ most: 65_535 })),
    bind_address: { value: '127.0.0.1', check: checks.host },
    authentication_handlers: { value: 'oauth, cookie, default', check: checks.handlers },
    allow_jsonp: flag('false'),
    changes_timeout: milliseconds('60000'),
    compression: { value: 'on', check: choice('on', 'br', 'gzip', 'off') },
    compression_of_loopback: flag('false'),
    config_whitelist: { check: checks.whitelist },
    enable_cors: flag('false'),
    max_bytes_in_flight: number('268435456', whole({ least: MIB / 4 })),
    max_connections: number('2048'),
    max_http_request_size: number('4294967296', whole({ least: MIN_REQUEST, mayBeUnlimited: true })),
    min_body_rate: number('500', whole({ most: 1_000_000 })),
    max_uri_length: { check: whole({ least: MIN_URI, mayBeEmpty: true }) },
    secure_rewrites: flag('true'),
    trusted_proxies: { check: checks.addresses },
    vhost_global_handlers: { value: '_utils, _uuids, _session, _oauth, _users' },
    'WWW-Authenticate': { check: checks.headerValue },
    x_forwarded_host: { value: 'X-Forwarded-Host', check: checks.headerName },
    x_forwarded_proto: { value: 'X-Forwarded-Proto', check: checks.headerName },
    x_forwarded_ssl: { value: 'X-Forwarded-Ssl', check: checks.headerName },
  },
  svc_httpd_auth: {
    allow_persistent_cookies: flag('false'),
    auth_cache_size: count('50', MIB, 0),
    authentication_db: { value: '_users', check: checks.databaseName },
    authentication_redirect: { value: '/_utils/session.html' },
    iterations: number('10000', checks.iterations),
    pbkdf2_prf: { value: 'sha', check: choice('sha', 'sha224', 'sha256', 'sha384', 'sha512') },
    min_iterations: number('100', checks.iterations),
    max_iterations: number('100000', checks.iterations),
    max_verified_iterations: count('1000000', checks.MAX_ITERATIONS),
    proxy_use_secret: flag('false'),
    public_fields: {},
    users_db_public: flag('false'),
    require_valid_user: flag('false'),
    require_valid_user_except_for_up: flag('false'),
    same_site: { value: 'lax', check: choice('lax', 'strict', 'none') },
    secret: {},
    timeout: count('600', MAX_MS),
    upgrade_hash_on_auth: flag('true'),
    x_auth_roles: { value: 'X-Auth-Svc-Roles', check: checks.headerName },
    x_auth_token: { value: 'X-Auth-Svc-Token', check: checks.headerName },
    x_auth_username: { value: 'X-Auth-Svc-UserName', check: checks.headerName },
  },
  svc_httpd_oauth: { use_users_db: flag('false') },
  jwt_auth: {
    required_claims: { value: 'exp', check: checks.claims },
    roles_claim_name: {},
    roles_claim_path: {},
  },
  cors: {
    origins: { check: checks.sharing },
    credentials: { value: 'false', check: checks.sharing },
    methods: { check: checks.tokens },
    headers: { check: checks.tokens },
    max_age: count('12345', MAX_MS, 0),
  },
  ssl: { cert_file: {}, key_file: {} },
  csp: {
    attachments_enable: flag('true'),
    attachments_header_value: { value: 'sandbox', check: checks.headerValue },
    showlist_enable: flag('true'),
    showlist_header_value: { value: 'sandbox', check: checks.headerValue },
  },
  couch_peruser: {
    enable: flag('false'),
    delete_dbs: flag('false'),
    database_prefix: { value: 'userdb-' },
  },
  utils: { read_only: flag('false') },
  attachments: {
    compression_level: count('8', 9, 0),
    compressible_types: { value: 'text/*, application/javascript, application/json, application/xml' },
  },
  auto_purge: {
    deleted_document_ttl: { check: checks.period },
    peer_ttl: { value: '6_months', check: checks.period },
    interval: milliseconds('3600000'),
    max_batch_size: count('1000', 10_000),
  },
  query_server_config: {
    reduce_limit: { value: 'true', check: choice('true', 'false', 'log') },
    memory_bytes: { value: '1073741824', check: checks.sandboxMemory },
    workers: { check: whole({ most: 1_024, mayBeEmpty: true }) },
  },
  replicator: {
    allowed_hosts: { check: checks.allowedHosts },
    allowed_headers: { check: checks.tokens },
    max_jobs: count('500', 100_000),
    max_jobs_per_user: count('500', 1_000_000, 0),
    max_jobs_of_users: count('5000', 1_000_000, 0),
    interval: milliseconds('60000'),
    max_churn: count('20', 100_000),
    max_replication_retry_count: number('10', whole({ mayBeUnlimited: true })),
    max_history: count('20', 1_000, 2),
    max_refused: count('100', 10_000, 0),
    worker_batch_size: count('500', 10_000),
    worker_processes: count('4', 100),
    http_connections: count('20', 1_000),
    connection_timeout: milliseconds('30000'),
    retries_per_request: count('10', 1_000, 0),
    checkpoint_interval: milliseconds('5000'),
    use_checkpoints: flag('true'),
    max_http_sessions: number('10'),
    max_http_pipeline_size: number('10'),
  },
  uuids: {
    algorithm: { value: 'sequential', check: choice(...UUID_ALGORITHMS) },
    max_count: count('1000', 1_000_000, 0),
    utc_id_suffix: { value: '', check: checks.idSuffix },
  },
};

/** Sections whose keys are names chosen by the operator. */
const FREE_SECTIONS: readonly (readonly [sections: RegExp, check?: Check])[] = [
  [/^admins$/, checks.admin],
  [/^vhosts$/, checks.virtualHost],
  [/^database_owners$/, checks.databaseOwner],
  [/^jwt_keys$/, checks.tokenKey],
  [/^jwt_issuers$/, checks.ofServers],
  [/^oauth_(?:consumer_secrets|token_secrets|token_users)$/],
  // For apps' own use; nothing here reads it.
  [/^app(?::.+)?$/],
];

/** Their keys are those of `cors`, for one host. */
const CORS_OF_HOST = /^cors:./;

/** The effective values if nothing was set. */
export const DEFAULT_SETTINGS: Settings = Object.fromEntries(
  Object.entries(KNOWN).map(([section, keys]) => [section, defaultsOf(keys)]),
);

/** Settings of ours that have no default, as `section/key`. */
export const UNSET_BY_DEFAULT: readonly string[] = Object.entries(KNOWN).flatMap(([section, keys]) =>
  Object.entries(keys).flatMap(([key, { value }]) => (value === undefined ? [`${section}/${key}`] : [])),
);

/** Returns all settings with fixed names, as `section/key`. */
export function knownNames(): string[] {
  return Object.entries(KNOWN).flatMap(([section, keys]) => Object.keys(keys).map((key) => `${section}/${key}`));
}

function defaultsOf(keys: Readonly<Record<string, Known>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(keys).flatMap(([key, { value }]) => (value === undefined ? [] : [[key, value]])),
  );
}

function knownSetting(section: string, key: string): Known | undefined {
  const table = CORS_OF_HOST.test(section) ? 'cors' : section;
  if (Object.hasOwn(KNOWN, table)) {
    const keys = KNOWN[table] ?? {};
    return Object.hasOwn(keys, key) ? keys[key] : undefined;
  }
  const free = FREE_SECTIONS.find(([sections]) => sections.test(section));
  if (free === undefined) return undefined;
  const [, check] = free;
  return check === undefined ? {} : { check };
}

/** Whether something here reads the setting of that name, or its section has keys chosen by the operator. */
export function isKnown(section: string, key: string): boolean {
  return knownSetting(section, key) !== undefined;
}

/** Checks of the host, by section, for settings that other hosts refuse. */
export type HostChecks = Readonly<Record<string, Check>>;

/** Fails with `bad_request` if the setting has an invalid value. */
export function checkSetting(config: Config, section: string, key: string, hostChecks: HostChecks): void {
  const check = hostChecks[section] ?? knownSetting(section, key)?.check;
  check?.(config, section, key);
}
