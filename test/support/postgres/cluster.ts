import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, readFileSync } from 'node:fs';
import { cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { findPostgres } from './find-postgres.ts';

interface ClusterOptions {
  /** Whether it waits for its disk, as any server should that holds data. Default: false. */
  readonly fsync?: boolean;
  /** More settings, each `name=value`. */
  readonly settings?: readonly string[];
  /** Where its folder is made. Default: the system's temporary folder. */
  readonly parent?: string;
}

/** PostgreSQL refuses to run as root; this user has no files of its own. */
export const NOBODY = { uid: 65_534, gid: 65_534 };

/**
 * Ends the server when standard input ends: also when the process of the test was killed. Then its folder goes, too, unless standard input
 * said that it is to stay.
 */
const RUN = `"$0" "$@" & server=$!
last=$(cat)
kill -INT $server 2> /dev/null
wait $server
[ "$last" = keep ] || rm -rf "$SETTEE_CLUSTER"`;

/** A PostgreSQL server in a temporary folder, on a port of its own. */
export class Cluster {
  readonly port: number;
  readonly #programs: string;
  readonly #folder: string;
  readonly #settings: readonly string[];
  #process: ChildProcess | undefined;

  private constructor(programs: string, folder: string, port: number, settings: readonly string[]) {
    this.port = port;
    this.#programs = programs;
    this.#folder = folder;
    this.#settings = settings;
  }

  /** Returns undefined if there is no PostgreSQL, and none can be installed. */
  static async start({
    fsync = false,
    settings = [],
    parent = tmpdir(),
  }: ClusterOptions = {}): Promise<Cluster | undefined> {
    const programs = findPostgres();
    if (programs === undefined) return undefined;
    const folder = await mkdtemp(join(parent, 'settee-postgres-'));
    if (isRoot()) chownSync(folder, NOBODY.uid, NOBODY.gid);
    const port = await freePort();
    const durability = fsync ? [] : ['fsync=off', 'full_page_writes=off'];
    const cluster = new Cluster(programs, folder, port, [...durability, 'max_connections=200', ...settings]);
    cluster.#initialise();
    await cluster.startAgain();
    return cluster;
  }

  url(parameters = ''): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres${parameters}`;
  }

  async startAgain(): Promise<void> {
    const { port } = this;
    const fixed = ['listen_addresses=127.0.0.1', 'unix_socket_directories='];
    const settings = [...fixed, ...this.#settings].flatMap((setting) => ['-c', setting]);
    const program = join(this.#programs, 'postgres');
    const server = ['-c', RUN, program, '-D', this.#data, '-p', `${port}`, ...settings];
    const env = { ...process.env, SETTEE_CLUSTER: this.#folder };
    const child = spawn('sh', server, { ...user(), cwd: '/', env, stdio: ['pipe', 'ignore', 'pipe'] });
    this.#process = child;
    await whenReady(child);
    // A test process that has nothing else to do may end.
    for (const part of [child, child.stdin, child.stderr]) if (part !== null && isUnreferable(part)) part.unref();
  }

  /** Starts the server again after it has ended by itself; ends it first if it has not. */
  async restart(): Promise<void> {
    await this.#ended('keep');
    await this.startAgain();
  }

  /** Ends the server as a crash does: it writes nothing more, and recovers at its next start. */
  async crash(): Promise<void> {
    process.kill(this.#pid, 'SIGQUIT');
    await this.#ended('keep');
  }

  /**
   * Kills the process of a connection, as a system does that runs out of memory. The server then ends all connections and recovers as after a crash, but
   * is not started again. Resolves when it takes connections.
   */
  async killConnection(): Promise<void> {
    const child = this.#process;
    if (child === undefined) throw new Error('PostgreSQL does not run');
    const client = new pg.Client({ connectionString: this.url() });
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE pid = pg_backend_pid()',
    );
    const recovered = whenReady(child);
    for (const { pid } of rows) process.kill(pid, 'SIGKILL');
    await recovered;
  }

  /** Ends the server as an administrator does, without waiting for its clients. */
  async shutDown(): Promise<void> {
    process.kill(this.#pid, 'SIGINT');
    await this.#ended('keep');
  }

  /** Keeps the present state, for `goBack`. */
  async keepState(): Promise<void> {
    await this.shutDown();
    await cp(this.#data, this.#kept, { recursive: true, preserveTimestamps: true });
    if (isRoot()) spawnSync('chown', ['-R', `${NOBODY.uid}:${NOBODY.gid}`, this.#kept]);
    await this.startAgain();
  }

  /** Starts with the state that was kept: as when a replica takes over that has not received everything since. */
  async goBack(): Promise<void> {
    await this.crash();
    await rm(this.#data, { recursive: true });
    await rename(this.#kept, this.#data);
    await this.startAgain();
  }

  async remove(): Promise<void> {
    await this.#ended('');
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  get #kept(): string {
    return join(this.#folder, 'kept');
  }

  get #pid(): number {
    return Number.parseInt(readFileSync(join(this.#data, 'postmaster.pid'), 'utf8'), 10);
  }

  #initialise(): void {
    const words = ['-D', this.#data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
    const { status, stderr } = spawnSync(join(this.#programs, 'initdb'), words, {
      ...user(),
      cwd: '/',
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`initdb failed:\n${stderr}`);
  }

  async #ended(last: 'keep' | ''): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null) return;
    const exit = once(child, 'exit');
    child.stdin?.end(last);
    await exit;
  }
}

/** Resolves when the server says that it takes connections, and rejects with what it printed if it ended. */
function whenReady(child: ChildProcess): Promise<void> {
  let printed = '';
  return new Promise<void>((resolve, reject) => {
    const onText = (text: string) => {
      printed = `${printed}${text}`.slice(-10_000);
      if (!printed.includes('ready to accept connections')) return;
      child.stderr?.off('data', onText);
      child.off('exit', onExit);
      resolve();
    };
    const onExit = () => reject(new Error(`PostgreSQL did not start:\n${printed}`));
    child.stderr?.setEncoding('utf8').on('data', onText);
    child.on('exit', onExit);
  });
}

/** Node's handles have it, although the types of streams don't say so. */
function isUnreferable(part: object): part is { unref(): void } {
  return 'unref' in part && typeof part.unref === 'function';
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function user(): { uid?: number; gid?: number } {
  return isRoot() ? NOBODY : {};
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address === 'object' && address !== null) return address.port;
  throw new Error('the system gave no port');
}
