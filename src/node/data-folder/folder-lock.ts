import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, readdir, realpath, rm } from 'node:fs/promises';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseError } from '../../base/errors/database-error.ts';

/**
 * The lock of a data folder: one process at a time may use it. The lock is a listening socket, because that disappears
 * with its process however the process ends, and because it can report which process holds the lock.
 *
 * Every process that wants the folder listens on a socket file of its own, with a name that is never used again, and
 * then connects to the others. A file without a listener was left by a dead process and is removed; since its name
 * is never used again, that is safe at any moment. Among processes that try at the same time the one with the lowest
 * name has priority: those with higher names give up, and it waits until they have given up or one holds the lock.
 *
 * On Windows one named pipe replaces the socket files: only one process can listen on its name, and it leaves no file.
 */
export interface FolderLock {
  /** Sets the holder's address, which is reported to processes that are refused. */
  announce(address: string): void;
  release(): Promise<void>;
}

/** The process at a socket, as the socket reports it in one line of JSON. */
interface SocketOwner {
  readonly pid: number;
  readonly state: 'candidate' | 'holder';
  readonly address: string | undefined;
}

const answerMs = 2_000;
/** A socket's path has at most about 104 bytes (sun_path), whatever the file system allows. */
const longestSocketPath = 100;

/** Takes the folder, which must exist, or rejects with `storage_locked` naming folder, pid and address. */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const sockets = process.platform === 'win32' ? await pipeOf(folder) : await socketsOf(folder);
  const lock = new LockSocket(sockets);
  try {
    await lock.listen();
    const other = await lock.findOtherOwner();
    if (other === undefined) return lock.hold();
    throw locked(folder, other);
  } catch (error) {
    await lock.release();
    throw isInUse(error) ? locked(folder, await ask(sockets.pathOf(sockets.ownName))) : error;
  }
}

/** The sockets of the processes that want one data folder. */
interface LockSockets {
  /** The name of this process's own socket. */
  readonly ownName: string;
  pathOf(name: string): string;
  /** Names of all sockets. */
  list(): Promise<string[]>;
  remove(name: string): Promise<void>;
  /** Closes what was opened to reach them. */
  close(): Promise<void>;
}

/** This process's own socket: first of a candidate for the lock, then of its holder. */
class LockSocket implements FolderLock {
  readonly #sockets: LockSockets;
  readonly #server: Server;
  /** Connections of processes that wait for the outcome of this candidate. */
  readonly #waiting = new Set<Socket>();
  #state: SocketOwner['state'] = 'candidate';
  #address: string | undefined;

  constructor(sockets: LockSockets) {
    this.#sockets = sockets;
    this.#server = createServer((socket) => this.#answer(socket));
    this.#server.unref();
  }

  async listen(): Promise<void> {
    this.#server.listen(this.#sockets.pathOf(this.#sockets.ownName));
    await once(this.#server, 'listening');
  }

  /** The process that holds the lock, or a candidate with priority; undefined if this process may take the lock. */
  async findOtherOwner(): Promise<SocketOwner | undefined> {
    const own = this.#sockets.ownName;
    for (const name of await this.#sockets.list()) {
      if (name === own) continue;
      const answer = await ask(this.#sockets.pathOf(name), name > own);
      if (answer === 'nobody') await this.#sockets.remove(name);
      else if (answer !== 'gave up') return answer === 'silent' ? silentOwner(name) : answer;
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
    await this.#sockets.close();
  }

  #answer(socket: Socket): void {
    socket.on('error', () => socket.destroy());
    const owner: SocketOwner = { pid: process.pid, state: this.#state, address: this.#address };
    const line = `${JSON.stringify(owner)}\n`;
    if (this.#state === 'holder') socket.end(line);
    else {
      this.#waiting.add(socket);
      socket.write(line);
    }
  }
}

type Answer = SocketOwner | 'nobody' | 'gave up' | 'silent';

/**
 * Asks which process listens at a path. If `patient`, waits for a candidate until it holds the lock or gives up. A process
 * that accepts the connection and says nothing is `silent`: it is stopped, and still holds the lock.
 */
async function ask(path: string, patient = false): Promise<Answer> {
  const socket = createConnection(path);
  socket.setEncoding('utf8');
  let latest: SocketOwner | undefined;
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
      latest = lines.map(parseOwner).at(-1) ?? latest;
      if (latest?.state === 'holder' || (latest && !patient)) return latest;
    }
  } catch (error) {
    if (hasCode(error, ['ECONNREFUSED', 'ENOENT'])) return 'nobody';
  } finally {
    socket.destroy();
  }
  // A process that gives up closes connections that it has not accepted yet: only a stopped process lets the time run out.
  return timedOut ? (latest ?? 'silent') : 'gave up';
}

function parseOwner(line: string): SocketOwner {
  const value: unknown = JSON.parse(line);
  const field = (name: string) => Object.entries(value ?? {}).find(([key]) => key === name)?.[1];
  const address: unknown = field('address');
  return {
    pid: Number(field('pid')),
    state: field('state') === 'holder' ? 'holder' : 'candidate',
    address: typeof address === 'string' ? address : undefined,
  };
}

/** Also contains the process id, for a holder that is stopped and can't answer. */
function socketName(): string {
  return `${process.pid}-${randomBytes(8).toString('hex')}.sock`;
}

function silentOwner(name: string): SocketOwner {
  return { pid: Number.parseInt(name, 10), state: 'holder', address: undefined };
}

async function socketsOf(folder: string): Promise<LockSockets> {
  const lockFolder = join(await realpath(folder), 'lock');
  const ownName = socketName();
  if (Buffer.byteLength(join(lockFolder, ownName)) <= longestSocketPath)
    return socketsIn(lockFolder, lockFolder, ownName);
  if (process.platform === 'linux') return socketsByDescriptor(lockFolder, ownName);
  const elsewhere = join(tmpdir(), `settee-${shortHash(lockFolder)}`);
  return socketsIn(elsewhere, elsewhere, ownName);
}

/** Linux: a path that is too long can be written with an open descriptor of its folder instead. */
async function socketsByDescriptor(lockFolder: string, ownName: string): Promise<LockSockets> {
  await mkdir(lockFolder, { recursive: true });
  const handle = await open(lockFolder, 'r');
  return socketsIn(lockFolder, `/proc/self/fd/${handle.fd}`, ownName, () => handle.close());
}

/** @param socketFolder the same folder as `files`, written so that the paths of sockets are short enough */
async function socketsIn(
  files: string,
  socketFolder: string,
  ownName: string,
  close: () => Promise<void> = async () => undefined,
): Promise<LockSockets> {
  await mkdir(files, { recursive: true });
  return {
    ownName,
    pathOf: (name) => join(socketFolder, name),
    list: async () => (await readdir(files)).filter((name) => name.endsWith('.sock')),
    remove: (name) => rm(join(files, name), { force: true }),
    close,
  };
}

async function pipeOf(folder: string): Promise<LockSockets> {
  const ownName = `settee-${shortHash((await realpath(folder)).toLowerCase())}`;
  return {
    ownName,
    pathOf: (name) => `\\\\.\\pipe\\${name}`,
    list: async () => [],
    remove: async () => undefined,
    close: async () => undefined,
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
    `The data folder ${folder} is in use by ${who}${where}. Stop that process first, or choose another folder with --data.`,
  );
}

/** Whether the pipe's name is taken. Names of socket files are unique, so only pipes fail that way. */
function isInUse(error: unknown): boolean {
  return process.platform === 'win32' && hasCode(error, ['EADDRINUSE', 'EACCES']);
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(`${error.code}`);
}
