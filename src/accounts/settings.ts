/** The settings of accounts (docs/node.md#settings). They are read at each use, or followed, so that a change takes effect at once. */
import { authenticationHandlers, booleanSetting, integerSetting } from '../base/system/config.ts';
import type { Config, ConfigStore } from '../base/system/contract.ts';

const SECTION = 'svc_httpd_auth';

/** The hash function of PBKDF2. `sha` is SHA-1, as stored documents call it. */
export type Prf = (typeof PRFS)[number];

/** All that the family has. */
const PRFS = ['sha', 'sha224', 'sha256', 'sha384', 'sha512'] as const;

export function asPrf(value: unknown): Prf | undefined {
  return PRFS.find((prf) => prf === value);
}

export interface HashSettings {
  readonly prf: Prf;
  readonly iterations: number;
}

/** How passwords are hashed from now on. */
export function hashSettings(config: Config): HashSettings {
  return {
    prf: asPrf(config.get(SECTION, 'pbkdf2_prf')) ?? 'sha',
    iterations: Math.max(1, integerSetting(config, SECTION, 'iterations') ?? 10_000),
  };
}

export interface IterationLimits {
  /** Fewer are too weak for hashes that this server makes, and that users write themselves. */
  readonly least: number;
  /** More are too slow for those. */
  readonly most: number;
  /** More are never computed: passwords are checked up to here. Hashes beyond `most` come from other servers, or from admins. */
  readonly mostChecked: number;
}

/** Returns the permitted iterations of hashes. */
export function iterationLimits(config: Config): IterationLimits {
  const most = integerSetting(config, SECTION, 'max_iterations') ?? 100_000;
  return {
    least: integerSetting(config, SECTION, 'min_iterations') ?? 100,
    most,
    mostChecked: Math.max(most, integerSetting(config, SECTION, 'max_verified_iterations') ?? 1_000_000),
  };
}

/** Whether a log-in replaces a hash that is weaker than what this server makes. */
export function upgradesHashes(config: Config): boolean {
  return (config.get(SECTION, 'upgrade_hash_on_auth') ?? 'true') === 'true';
}

/** Names of the handlers that recognise credentials, in the order in which they are called. */
export function handlerNames(config: Config): readonly string[] {
  return authenticationHandlers(config);
}

export function authenticationDatabase(config: Config): string {
  return config.get(SECTION, 'authentication_db') || '_users';
}

/** Returns an object that always has the current name of the users' database. It follows the setting, since every write asks for the name. */
export function followUsersDatabase(config: ConfigStore): { readonly name: string } {
  const followed = { name: authenticationDatabase(config) };
  config.onChange(({ section, key }) => {
    if (section === SECTION && key === 'authentication_db') followed.name = authenticationDatabase(config);
  });
  return followed;
}

/** Seconds that a session lasts after the last request. */
export function sessionSeconds(config: Config): number {
  return integerSetting(config, SECTION, 'timeout') ?? 600;
}

export function authFlag(
  config: Config,
  key: 'allow_persistent_cookies' | 'proxy_use_secret' | 'users_db_public',
): boolean {
  return booleanSetting(config, SECTION, key);
}

/** The pages from which browsers send the session cookie (RFC 6265bis, 4.1.2.7). */
export function sameSite(config: Config): 'Lax' | 'Strict' | 'None' {
  const value = config.get(SECTION, 'same_site')?.toLowerCase();
  if (value === 'none') return 'None';
  return value === 'strict' ? 'Strict' : 'Lax';
}

/** Members of user documents that everyone may read; undefined if there are none. */
export function publicFields(config: Config): ReadonlySet<string> | undefined {
  if (!authFlag(config, 'users_db_public')) return undefined;
  const names = (config.get(SECTION, 'public_fields') ?? '').split(',').flatMap((name) => name.trim() || []);
  return names.length === 0 ? undefined : new Set(names);
}

/** How many user contexts are kept in memory. */
export function cacheSize(config: Config): number {
  return integerSetting(config, SECTION, 'auth_cache_size') ?? 50;
}

/** Whether OAuth consumers and tokens come from user documents, rather than from the configuration. */
export function useUsersForOAuth(config: Config): boolean {
  return booleanSetting(config, 'svc_httpd_oauth', 'use_users_db');
}
