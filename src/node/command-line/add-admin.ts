/** Makes a user a server admin: keeps the hash of the typed password in the settings file (docs/node.md#accounts). */
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Passwords } from '../../accounts/passwords/passwords.ts';
import { adminText } from '../../accounts/passwords/stored-password.ts';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { systemRandom } from '../../base/shared/clock.ts';
import { silentLog } from '../../base/system/log.ts';
import type { ConfigStorage } from '../../core/config/config-storage.ts';
import { createConfig } from '../../core/config/config-store.ts';
import { PostgresStorage } from '../../storage/postgres/postgres-storage.ts';
import { CONFIG_FILE, IniFile } from '../data-folder/ini-file.ts';
import type { MessageStream } from '../terminal/progress.ts';
import { askSecret, readFirstLine, type TypedInput } from '../terminal/read-secret.ts';

export interface AddAdminOptions {
  readonly admin: string;
  readonly dataFolder: string;
  /** The configuration file. Default: a table in the storage, if one is named, or `settee.ini` in the data folder. */
  readonly configFile?: string | undefined;
  /** The URL of a storage in PostgreSQL. */
  readonly storage?: string | undefined;
}

interface Streams {
  readonly stdin: TypedInput;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: MessageStream;
}

/** Fails with `bad_request` if the name or the password is not accepted, or the two typed passwords differ. */
export async function addAdmin(options: AddAdminOptions, streams: Streams): Promise<void> {
  const { admin, dataFolder, storage, configFile = storage ?? join(dataFolder, CONFIG_FILE) } = options;
  const password = await readPassword(admin, streams);
  if (password === '')
    throw new DatabaseError(
      'bad_request',
      'The password is empty; nothing was changed. Run the command again, and give one.',
    );
  if (configFile === storage) return addToStorage(options, storage, password, streams);
  await mkdir(dirname(configFile), { recursive: true });
  await setPassword(admin, password, { kept: new IniFile(configFile, silentLog), place: configFile }, streams);
}

async function addToStorage(
  { admin }: AddAdminOptions,
  url: string,
  password: string,
  streams: Streams,
): Promise<void> {
  const storage = await PostgresStorage.open(url, process.env);
  try {
    await setPassword(admin, password, { kept: storage.settings, place: storage.place }, streams);
    await storage.settings.markAdmins(true);
  } finally {
    await storage.close();
  }
}

async function setPassword(
  admin: string,
  password: string,
  { kept, place }: { readonly kept: ConfigStorage; readonly place: string },
  streams: Streams,
): Promise<void> {
  const config = createConfig();
  await config.keepIn(kept);
  const isNew = config.get('admins', admin) === undefined;
  const hash = await new Passwords(config, systemRandom).hash(password);
  await config.set('admins', admin, adminText(hash));
  const what = isNew ? `${admin} is a server admin` : `${admin} has a new password`;
  streams.stdout.write(`${what} from the next start of the server. The hash of the password is stored in ${place}.\n`);
}

/** Twice from a terminal; from elsewhere the first line. */
async function readPassword(admin: string, { stdin, stderr }: Streams): Promise<string> {
  const first = await askSecret(stdin, stderr, `Password of ${admin}: `);
  if (first === undefined) return readFirstLine(stdin);
  const second = await askSecret(stdin, stderr, 'Repeat the password: ');
  if (first === second) return first;
  throw new DatabaseError('bad_request', 'The two passwords differ; nothing was changed. Run the command again.');
}
