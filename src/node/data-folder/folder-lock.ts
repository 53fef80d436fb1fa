import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, readdir, realpath, rm } from 'node:fs/promises';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseError } from '../../errors/database-error.ts';

/**
 * One process at a time uses a data folder. The lock is a listening socket, which vanishes with its process however
 * that ends, and which answers who holds it.
 *
 * Every process that wants the folder listens on a socket file of its own, with a name that is never used again, and
 * then looks at the others. A file that nobody listens on was left by a dead process and is removed; since its name
 * can't come back, that is safe at any moment. Of several that arrive together the lowest name goes first: a higher one
 * gives up, a lower one waits until the other has given up or holds the lock.
 *
 * On Windows named pipes do all of this: there a pipe's name can be listened on once, and leaves nothing behind.
 */
export interface FolderLock {
  /** Lets those who are refused know where the holder answers. */
  announce(address: string): void;
  release(): Promise<void>;
}

/** What a socket answers, as one line of JSON. */
interface Occupant {
  readonly pid: number;
  readonly state: 'candidate' | 'holder';
  readonly address: string | undefined;
}

const answerMs = 2_000;
/** A socket's path has at most about 104 bytes (sun_path), whatever the file system allows. */
const longestSocketPath = 100;

/** Takes the folder, which must exist, or rejects with `storage_locked` naming folder, pid and address. */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const place = process.platform === 'win32' ? await pipePlace(folder) : await socketPlace(folder);
  const contender = new Contender(place);
  try {
    await contender.listen();
    const occupant = await contender.findOccupant();
    if (occupant === undefined) return contender.hold();
    throw locked(folder, occupant);
  } catch (error) {
    await contender.release();
    throw isInUse(error) ? locked(folder, await ask(place.pathOf(place.ownName))) : error;
  }
}

/** Where the sockets of one folder lie. */
interface Place {
  readonly ownName: string;
  pathOf(name: string): string;
  /** Names of the sockets that are there. */
  list(): Promise<string[]>;
  remove(name: string): Promise<void>;
  leave(): Promise<void>;
}

class Contender implements FolderLock {
  readonly #place: Place;
  readonly #server: Server;
  readonly #waiting = new Set<Socket>();
  #state: Occupant['state'] = 'candidate';
  #address: string | undefined;

  constructor(place: Place) {
    this.#place = place;
    this.#server = createServer((socket) => this.#answer(socket));
    this.#server.unref();
  }

  async listen(): Promise<void> {
    this.#server.listen(this.#place.pathOf(this.#place.ownName));
    await once(this.#server, 'listening');
  }

  /** Undefined when nobody else has the folder, nor comes before us. */
  async findOccupant(): Promise<Occupant | undefined> {
    const own = this.#place.ownName;
    for (const name of await this.#place.list()) {
      if (name === own) continue;
      const occupant = await ask(this.#place.pathOf(name), name > own);
      if (occupant === 'nobody') await this.#place.remove(name);
      else if (occupant !== 'gave up') return occupant === 'silent' ? silentOccupant(name) : occupant;
    }
    return undefined;
  }

  hold(): FolderLock {
    this.#state = 'holder';
    for (const socket of this.#waiting) this.#answer(socket);
    this.#waiting.clear();
    return this;
  }

  announce(address: string): void {
    this.#address = address;
  }

  async release(): Promise<void> {
    for (const socket of this.#waiting) socket.destroy();
    if (this.#server.listening) {
      const closed = once(this.#server, 'close');
      this.#server.close();
      await closed;
    }
    await this.#place.leave();
  }

  #answer(socket: Socket): void {
    socket.on('error', () => socket.destroy());
    const occupant: Occupant = { pid: process.pid, state: this.#state, address: this.#address };
    const line = `${JSON.stringify(occupant)}\n`;
    if (this.#state === 'holder') socket.end(line);
    else {
      this.#waiting.add(socket);
      socket.write(line);
    }
  }
}

type Answer = Occupant | 'nobody' | 'gave up' | 'silent';

/**
 * Asks who listens at a path. With `patient`, a candidate is waited for until it holds the lock or gives up. Who
 * accepts but does not speak (a stopped process) still holds.
 */
async function ask(path: string, patient = false): Promise<Answer> {
  const socket = createConnection(path);
  socket.setEncoding('utf8');
  let latest: Occupant | undefined;
  let timedOut = false;
  let rest = '';
  socket.setTimeout(answerMs, () => {
    timedOut = true;
    socket.destroy();
  });
  try {
    for await (const text of socket) {
      const lines = `${rest}${text}`.split('\n');
      rest = lines.pop() ?? '';
      latest = lines.map(parseOccupant).at(-1) ?? latest;
      if (latest?.state === 'holder' || (latest && !patient)) return latest;
    }
  } catch (error) {
    if (hasCode(error, ['ECONNREFUSED', 'ENOENT'])) return 'nobody';
  } finally {
    socket.destroy();
  }
  if (latest === undefined) return 'silent';
  return timedOut ? latest : 'gave up';
}

function parseOccupant(line: string): Occupant {
  const value: unknown = JSON.parse(line);
  const field = (name: string) => Object.entries(value ?? {}).find(([key]) => key === name)?.[1];
  const address: unknown = field('address');
  return {
    pid: Number(field('pid')),
    state: field('state') === 'holder' ? 'holder' : 'candidate',
    address: typeof address === 'string' ? address : undefined,
  };
}

/** The pid stands in the name too, for holders that are stopped and can't answer. */
function socketName(): string {
  return `${process.pid}-${randomBytes(8).toString('hex')}.sock`;
}

function silentOccupant(name: string): Occupant {
  return { pid: Number.parseInt(name, 10), state: 'holder', address: undefined };
}

async function socketPlace(folder: string): Promise<Place> {
  const inFolder = join(await realpath(folder), 'lock');
  const ownName = socketName();
  if (Buffer.byteLength(join(inFolder, ownName)) <= longestSocketPath) return placeAt(inFolder, inFolder, ownName);
  if (process.platform === 'linux') return linuxPlace(inFolder, ownName);
  const elsewhere = join(tmpdir(), `settee-${shortHash(inFolder)}`);
  return placeAt(elsewhere, elsewhere, ownName);
}

/** Linux lets a long path be said through an open descriptor of its folder. */
async function linuxPlace(lockFolder: string, ownName: string): Promise<Place> {
  await mkdir(lockFolder, { recursive: true });
  const handle = await open(lockFolder, 'r');
  return placeAt(lockFolder, `/proc/self/fd/${handle.fd}`, ownName, () => handle.close());
}

async function placeAt(
  files: string,
  sockets: string,
  ownName: string,
  leave: () => Promise<void> = async () => undefined,
): Promise<Place> {
  await mkdir(files, { recursive: true });
  return {
    ownName,
    pathOf: (name) => join(sockets, name),
    list: async () => (await readdir(files)).filter((name) => name.endsWith('.sock')),
    remove: (name) => rm(join(files, name), { force: true }),
    leave,
  };
}

async function pipePlace(folder: string): Promise<Place> {
  const ownName = `settee-${shortHash((await realpath(folder)).toLowerCase())}`;
  return {
    ownName,
    pathOf: (name) => `\\\\.\\pipe\\${name}`,
    list: async () => [],
    remove: async () => undefined,
    leave: async () => undefined,
  };
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24);
}

function locked(folder: string, holder: Answer): DatabaseError {
  const known = typeof holder === 'object' ? holder : undefined;
  const who = known ? `process ${known.pid}` : 'another process';
  const where = known?.address ? `, which answers at ${known.address}` : '';
  return new DatabaseError(
    'storage_locked',
    `The data folder ${folder} is in use by ${who}${where}. Stop that one first, or choose another folder with --data.`,
  );
}

/** A pipe's name is taken. Socket files have names of their own, so there this can't be. */
function isInUse(error: unknown): boolean {
  return process.platform === 'win32' && hasCode(error, ['EADDRINUSE', 'EACCES']);
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(`${error.code}`);
}
