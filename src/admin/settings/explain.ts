/** What the page knows of a setting. */
import { KNOWN_SETTINGS } from './known-settings.ts';

/** `query`: at the next query; `restart`: when the service is opened again; `start`: when the process starts; `fixed`: not over HTTP. */
export type Effect = 'now' | 'query' | 'restart' | 'start' | 'fixed' | 'none';

export interface Explanation {
  /** Undefined: without a value the setting is empty. */
  readonly default: string | undefined;
  readonly effect: Effect;
  /** Empty: any text that the server accepts. */
  readonly choices: readonly string[];
  readonly meaning: string;
}

export const EFFECT_TEXTS: Readonly<Record<Effect, string>> = {
  now: 'Takes effect at once.',
  query: 'Takes effect at the next query.',
  restart: 'Takes effect after a restart of the service.',
  start: 'Takes effect when the process starts again.',
  fixed: 'It is set where the server is started.',
  none: 'Has no effect.',
};

/** Names of sections elsewhere in the family. */
const SECTIONS: Readonly<Record<string, string>> = {
  couchdb: 'svc',
  chttpd: 'httpd',
  chttpd_auth: 'svc_httpd_auth',
  couch_httpd_auth: 'svc_httpd_auth',
  couch_httpd_oauth: 'svc_httpd_oauth',
};

/** Sections whose keys the user chooses. */
const OWN_SECTIONS: Readonly<Record<string, string>> = {
  admins: 'The admins of the server, with the hashes of their passwords.',
  vhosts: 'A virtual host, and the path that it stands for.',
  database_owners: 'A database, and the server of a cluster that owns it.',
  jwt_keys: 'A key for tokens: a secret in Base64, or a public key as PEM.',
  jwt_issuers: 'An OpenID provider whose tokens the server trusts, as JSON.',
  oauth_consumer_secrets: 'An OAuth key, and its secret.',
  oauth_token_secrets: 'An OAuth token, and its secret.',
  oauth_token_users: 'An OAuth token, and the name of its user.',
  app: 'A setting of an app.',
};

const SECRET_SECTIONS = new Set(['admins', 'jwt_keys', 'oauth_consumer_secrets', 'oauth_token_secrets']);

const known = new Map(KNOWN_SETTINGS.trim().split('\n').map(toEntry));

/** Undefined: the page does not know it. */
export function explain(section: string, key: string): Explanation | undefined {
  const found = known.get(`${SECTIONS[section] ?? section}/${key}`);
  if (found !== undefined) return found;
  if (section.startsWith('cors:')) return known.get(`cors/${key}`);
  const meaning = OWN_SECTIONS[section.split(':', 1)[0] ?? section];
  return meaning === undefined ? undefined : { default: undefined, effect: 'now', choices: [], meaning };
}

/** The settings that the server does not list as long as they have no value. */
export function knownNames(): readonly string[] {
  return [...known.keys()];
}

/** The value must not be in sight of others until somebody asks for it. */
export function isSecret(section: string, key: string): boolean {
  return SECRET_SECTIONS.has(section) || key === 'secret';
}

function toEntry(line: string): readonly [string, Explanation] {
  const [name = '', value = '', effect = 'now', choices = '', meaning = ''] = line
    .split('|')
    .map((cell) => cell.trim());
  return [
    name,
    {
      default: value === '' ? undefined : value,
      effect: effect as Effect,
      choices: choices === '' ? [] : choices.split(', '),
      meaning,
    },
  ];
}
