import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { DatabaseError } from '../../base/errors/database-error.ts';

/** Where a storage is, and how to connect to it. */
export interface StorageAddress {
  /** For messages: without the password. */
  readonly place: string;
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /** Asked for each connection, so that a password may be changed while the server runs. */
  readonly password: () => Promise<string | undefined>;
  readonly ssl: false | ConnectionOptions;
  /** The schema with the tables. */
  readonly schema: string;
  /** How many connections there are at most. */
  readonly pool: number;
  /** How long an operation may take, in seconds: also while the database server can't be reached. */
  readonly timeoutS: number;
  /** Whether statements are prepared under names; not possible behind some connection poolers. */
  readonly prepares: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

const PROTOCOLS = ['postgres:', 'postgresql:'];
const DEFAULT_PORT = 5432;
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
const PARAMETERS = [
  ...['schema', 'host', 'pool', 'timeout', 'prepare', 'passfile'],
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey'],
] as const;
const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/;

export function isStorageUrl(text: string): boolean {
  return PROTOCOLS.some((protocol) => text.startsWith(protocol));
}

/**
 * Reads a URL `postgres://USER:PASSWORD@HOST:PORT/DATABASE?PARAMETER=…`. What it leaves out comes from the variables that PostgreSQL's own
 * programs use (PGHOST, PGPASSWORD, …). Fails with `bad_request`, in words that never repeat the URL, which may hold a password.
 */
export async function readStorageUrl(text: string, environment: Environment): Promise<StorageAddress> {
  const url = parse(text);
  const parameters = new Map(url.searchParams);
  for (const name of parameters.keys()) {
    if (!PARAMETERS.some((known) => known === name)) {
      throw refused(`there is no parameter "${name}"; there are ${PARAMETERS.join(', ')}`);
    }
  }
  const host = decoded(url.hostname) || parameters.get('host') || environment['PGHOST'] || 'localhost';
  const user = decoded(url.username) || environment['PGUSER'] || environment['USER'] || 'postgres';
  const database = decoded(url.pathname.slice(1)) || environment['PGDATABASE'] || user;
  const port = url.port === '' ? wholeNumber('PGPORT', environment['PGPORT'], DEFAULT_PORT, 65_535) : Number(url.port);
  const schema = parameters.get('schema') ?? 'settee';
  if (!SCHEMA.test(schema)) throw refused(`the schema "${schema}" is not a name of small letters, digits and "_"`);
  return {
    place: `postgres://${user}@${host}:${port}/${database} (schema ${schema})`,
    ...{ host, port, database, user, schema },
    password: passwordOf(decoded(url.password), parameters.get('passfile'), environment),
    ssl: await readSsl(host, parameters),
    pool: wholeNumber('pool', parameters.get('pool'), 10, 1000),
    timeoutS: wholeNumber('timeout', parameters.get('timeout'), 30, 3600),
    prepares: parameters.get('prepare') !== 'false',
  };
}

function parse(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && PROTOCOLS.includes(url.protocol)) return url;
  throw refused(
    'it must be like postgres://user@host:5432/database; in user and password, write @ as %40, : as %3A and / as %2F',
  );
}

function refused(why: string): DatabaseError {
  return new DatabaseError('bad_request', `The URL of the storage can't be used: ${why}.`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused('a percent sign in it does not begin a character; write it as %25');
  }
}

function wholeNumber(name: string, text: string | undefined, standard: number, highest: number): number {
  if (text === undefined || text === '') return standard;
  const value = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= highest) return value;
  throw refused(`"${name}" is "${text}"; it must be a whole number from 1 to ${highest}`);
}

function passwordOf(inUrl: string, file: string | undefined, environment: Environment): StorageAddress['password'] {
  if (file === undefined) return async () => inUrl || environment['PGPASSWORD'];
  return async () => (await readText('passfile', file)).split(/\r?\n/)[0];
}

async function readText(name: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw refused(`the file of "${name}" can't be read: ${why}`);
  }
}

/** Without a mode, another machine is reached by TLS, with a certificate that proves its name; this machine without. */
async function readSsl(host: string, parameters: ReadonlyMap<string, string>): Promise<false | ConnectionOptions> {
  const mode = parameters.get('sslmode') ?? (isThisMachine(host) ? 'disable' : 'verify-full');
  if (!SSL_MODES.some((known) => known === mode)) {
    throw refused(`"sslmode" is "${mode}"; it must be one of ${SSL_MODES.join(', ')}`);
  }
  if (mode === 'disable') return false;
  const read = async (name: 'sslrootcert' | 'sslcert' | 'sslkey'): Promise<string | undefined> => {
    const path = parameters.get(name);
    return path === undefined ? undefined : readText(name, path);
  };
  const [ca, cert, key] = [await read('sslrootcert'), await read('sslcert'), await read('sslkey')];
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(isIP(host) === 0 && { servername: host }),
    rejectUnauthorized: mode !== 'require',
    ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
  };
}

function isThisMachine(host: string): boolean {
  return host.startsWith('/') || ['localhost', '127.0.0.1', '::1', '[::1]'].includes(host);
}
