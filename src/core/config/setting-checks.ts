/** The permitted values of settings. Each check reads a setting as its user does, and fails with `bad_request` on an invalid value. */
import { DatabaseError } from '../../base/errors/database-error.ts';
import {
  addressListSetting,
  authenticationHandlers,
  choiceSetting,
  integerSetting,
  MIN_SANDBOX_BYTES,
  NO_LIMIT,
  whitelistSetting,
} from '../../base/system/config.ts';
import type { Config } from '../../base/system/contract.ts';
import { logLevel } from '../../base/system/log.ts';
import { periodSetting } from '../../base/system/periods.ts';
import { sampleWindows } from '../../base/system/statistics.ts';
import { requiredClaims } from '../../base/system/token-claims.ts';

export type Check = (config: Config, section: string, key: string) => unknown;

/** The longest timer of hosts: a longer one would end at once. */
export const MAX_MS = 2_147_483_647;

interface Bounds {
  readonly least?: number;
  readonly most?: number;
  /** Whether it may be empty, which means the same as unset. Default: false. */
  readonly mayBeEmpty?: boolean;
  /** Whether it may be `infinity`. Default: false. */
  readonly mayBeUnlimited?: boolean;
}

/** A whole number, written in digits. */
export function whole({ least = 0, most, mayBeEmpty = false, mayBeUnlimited = false }: Bounds = {}): Check {
  const words = [
    most === undefined ? `a whole number from ${least} up` : `a whole number from ${least} to ${most}`,
    ...(mayBeUnlimited ? [NO_LIMIT] : []),
  ].join(', or ');
  return (config, section, key) => {
    const text = config.get(section, key);
    if (text === undefined || (text === '' && mayBeEmpty) || (text === NO_LIMIT && mayBeUnlimited)) return;
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= least && value <= (most ?? value)) return;
    throw refusal(config, section, key, words);
  };
}

export function choice(...choices: readonly string[]): Check {
  return (config, section, key) => choiceSetting(config, section, key, choices);
}

/** A period of time. It may be empty, which means the same as unset. */
export const period: Check = periodSetting;

/** A text that fits a pattern; `words` complete "it must be …". */
export function text(pattern: RegExp, words: string): Check {
  return (config, section, key) => {
    if (!pattern.test(config.get(section, key) ?? '')) throw refusal(config, section, key, words);
  };
}

function refusal(config: Config, section: string, key: string, words: string): DatabaseError {
  const value = (config.get(section, key) ?? '').slice(0, 200);
  return new DatabaseError('bad_request', `Setting ${section}/${key} is "${value}"; it must be ${words}.`);
}

/** For settings that hold secrets: no message contains their values. */
function secretRefusal(section: string, key: string, words: string): DatabaseError {
  return new DatabaseError('bad_request', `Setting ${section}/${key} can't have this value; it must be ${words}.`);
}

const TOKEN = "[!#$%&'*+.^_`|~\\dA-Za-z-]+";

/** A header can't contain other characters, and sending it would fail. */
export const headerValue = text(/^[ -~]*$/, 'printable characters of ASCII, since it is sent in a header');
export const headerName = text(new RegExp(`^(?:${TOKEN})?$`), 'the name of a header');
export const tokens = text(
  new RegExp(`^\\s*(?:${TOKEN}\\s*(?:,\\s*|$))*$`),
  'names of methods or headers, separated by commas',
);

export const host = text(
  /^(?:[\w.-]+|(?=.*:.*:)[\da-f:.]+|\[(?=.*:.*:)[\da-f:.]+\])?$/i,
  'an IP address or the name of a host, without a port',
);

const HOST_NAME = '(?:\\*\\.)?[\\p{L}\\p{N}_-]+(?:\\.[\\p{L}\\p{N}_-]+)*\\.?';
const BLOCK =
  '(?:\\d{1,3}\\.){3}\\d{1,3}/(?:3[0-2]|[12]?\\d)|[\\da-f:.]*:[\\da-f:.]*:[\\da-f:.]*(?:/(?:12[0-8]|1[01]\\d|\\d?\\d))?';
const HOST_ENTRY = `(?:\\*|${BLOCK}|(?:${HOST_NAME}|\\[[\\da-f.]*:[\\da-f:.]*:[\\da-f:.]*\\])(?::\\d{1,5})?)`;

export const allowedHosts = text(
  new RegExp(`^\\s*(?:${HOST_ENTRY}\\s*(?:,\\s*|$))*$`, 'iu'),
  'hosts, separated by commas: names, *.example.org, addresses (each optionally with :port), blocks such as 10.0.0.0/8, or * for all',
);

export const databaseName = text(
  /^(?:_users|[a-z][a-z\d_$()+/-]*)?$/,
  '_users or the name of a database, which has lower-case letters, digits and _$()+-/ and begins with a letter',
);

/**
 * Refuses sharing with all origins with credentials: every page could act as the logged-in user. If the section of one host and the general one
 * would together permit that, nothing is shared.
 */
export const sharing: Check = (config, section) => {
  const credentials = config.get(section, 'credentials') ?? 'false';
  if (credentials !== 'false') choiceSetting(config, section, 'credentials', ['true', 'false']);
  const origins = (config.get(section, 'origins') ?? '').split(',').map((origin) => origin.trim());
  if (!origins.includes('*') || credentials !== 'true') return;
  const reason = `Settings ${section}/origins and ${section}/credentials would let every page act with the rights of the user who is logged in. List the origins, or turn credentials off.`;
  throw new DatabaseError('bad_request', reason);
};

const AUTH = 'svc_httpd_auth';
/** Otherwise a password would take minutes, and block a thread. Users may send hashes of their own, as slow as the settings permit. */
export const MAX_ITERATIONS = 10_000_000;
const iterationCount = whole({ least: 1, most: MAX_ITERATIONS });

/** Each bounds the others: this server makes only hashes that it would take from users. */
export const iterations: Check = (config, section, key) => {
  for (const name of ['iterations', 'min_iterations', 'max_iterations']) iterationCount(config, AUTH, name);
  const least = integerSetting(config, AUTH, 'min_iterations') ?? 1;
  const used = integerSetting(config, AUTH, 'iterations') ?? least;
  const most = integerSetting(config, AUTH, 'max_iterations') ?? used;
  if (least <= used && used <= most) return;
  const words = `such that ${AUTH}/iterations (${used}) is between min_iterations (${least}) and max_iterations (${most})`;
  throw refusal(config, section, key, words);
};

export const handlers: Check = authenticationHandlers;
export const whitelist: Check = whitelistSetting;
export const addresses: Check = addressListSetting;
export const sandboxMemory: Check = (config, section, key) => {
  whole({ least: MIN_SANDBOX_BYTES })(config, section, key);
};
export const level: Check = logLevel;
export const claims: Check = requiredClaims;

/** Each bounds the other. */
export const ratesAndWindows: Check = (config) => {
  whole({ least: 1, most: MAX_MS })(config, 'stats', 'rate');
  sampleWindows(config);
};

/** The name of a server admin. Names and passwords are sent with a colon between them, and without control characters (RFC 7617, 2). */
export const admin: Check = (_config, _section, key) => {
  if (key !== '' && !/[:\p{Cc}]/u.test(key)) return;
  const name = JSON.stringify(key);
  throw new DatabaseError(
    'bad_request',
    `The admin ${name} could not log in: a name must not be empty, and must have no colons and no control characters.`,
  );
};

const KEY_KINDS = /^(?:hmac|rsa|ec|eddsa):./;
const BASE64 = /^(?:[\w+/-]{4})*(?:[\w+/-]{2,3}={0,2})?$/;

export const tokenKey: Check = (config, section, key) => {
  if (!KEY_KINDS.test(key)) {
    const reason = `Setting ${section}/${key} does not name a key for tokens: its name must be hmac:, rsa:, ec: or eddsa:, followed by the id of the key, or by _default for tokens that name no key.`;
    throw new DatabaseError('bad_request', reason);
  }
  const value = config.get(section, key) ?? '';
  if (key.startsWith('hmac:')) {
    if (value === '' || !BASE64.test(value)) throw secretRefusal(section, key, 'a secret in Base64');
  } else if (!value.includes('-----BEGIN PUBLIC KEY-----')) {
    throw secretRefusal(section, key, 'a public key as PEM, with \\n for its line breaks');
  }
};

/** For settings that only a server acts on: it has a check of its own. */
export const ofServers: Check = (_config, section, key) => {
  throw new DatabaseError('bad_request', `Setting ${section}/${key} has no effect here: only servers act on it.`);
};

export const virtualHost: Check = (config, section, key) => {
  if (!key.startsWith('/') && (config.get(section, key) ?? '').startsWith('/')) return;
  const reason = `Setting ${section}/${key} is not a virtual host: its name must be a host, optionally with a port and a path, and its value the path that it stands for, such as /db.`;
  throw new DatabaseError('bad_request', reason);
};

const DATABASE_NAME = /^[a-z][a-z\d_$()+/-]*$/;

/** One server of several owns a database (docs/node.md#who-owns-what). */
export const databaseOwner: Check = (config, section, key) => {
  if (DATABASE_NAME.test(key) && /^settee@[^\s@/]+$/.test(config.get(section, key) ?? '')) return;
  const reason = `Setting ${section}/${key} does not say which server owns a database: its name must be that of a database, not beginning with an underscore, and its value the name of a server, such as settee@db1.example.org:5984.`;
  throw new DatabaseError('bad_request', reason);
};

/** Ids have at most 8,192 bytes. */
export const idSuffix = text(/^.{0,1000}$/u, 'a text of at most 1000 characters');
