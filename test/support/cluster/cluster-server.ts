/** A server of a cluster as a process, which is killed, paused, ended and started again under the same name. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { builtMain } from '../crash/server-process.ts';
import { CuttingProxy } from '../postgres/cutting-proxy.ts';
import { TcpRelay } from '../replication/tcp-relay.ts';

/** The command line without the check for newer sources, which would build again when a source changes meanwhile. */
const launcher = `
  const { main } = await import(${JSON.stringify(pathToFileURL(builtMain).href)});
  process.exitCode = await main(process.argv.slice(1));
`;
/** The end of what a server logged that is kept. */
const MAX_LOG = 200_000;
/** A folder for the logs of the servers, to look into a failure. Default: none. */
const logFolder = process.env['SETTEE_CLUSTER_LOGS'];

export interface ClusterServerOptions {
  readonly name: string;
  readonly postgresPort: number;
  readonly schema: string;
  /** Default: that of every server. */
  readonly leaseMs: number | undefined;
}

export class ClusterServer {
  readonly name: string;
  /** Between the other servers and this one: clients don't use it. */
  readonly links: TcpRelay;
  /** Between this server and PostgreSQL. */
  readonly storage: CuttingProxy;
  readonly #options: ClusterServerOptions;
  #child: ChildProcess | undefined;
  #url = '';
  #isPaused = false;
  #isEnding = false;
  log = '';
  readonly faults: string[] = [];

  private constructor(options: ClusterServerOptions, links: TcpRelay, storage: CuttingProxy) {
    this.name = options.name;
    this.#options = options;
    this.links = links;
    this.storage = storage;
  }

  static async create(options: ClusterServerOptions): Promise<ClusterServer> {
    const links = await TcpRelay.start('http://127.0.0.1:1');
    return new ClusterServer(options, links, await CuttingProxy.start(options.postgresPort));
  }

  /** By which settings pin a database to it. */
  get owner(): string {
    return `settee@${new URL(this.links.url).host}`;
  }

  /** Of the last process, with a slash at its end; empty before the first one. */
  get url(): string {
    return this.#url;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Resolves when it listens. */
  async start(): Promise<void> {
    const { schema, leaseMs } = this.#options;
    const storage = this.storage.url(`?schema=${schema}&timeout=5`);
    const words = ['serve', '--no-demo', '--port', '0', '--cluster', '--announce', `${this.links.url}/`];
    const env = { ...process.env, ...(leaseMs !== undefined && { SETTEE_STORAGE_LEASE_MS: `${leaseMs}` }) };
    const child = spawn(
      process.execPath,
      ['--input-type=module', '-e', launcher, '--', ...words, '--storage', storage, '--log-level', 'debug'],
      { env, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.#child = child;
    this.#isPaused = false;
    this.#isEnding = false;
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.#note(text));
    const url = new Promise<string>((resolve, reject) => {
      let said = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        const [, found] = / at (http:\S+)/.exec(said) ?? [];
        if (found !== undefined) resolve(found);
      });
      child.once('exit', (code, signal) => {
        this.#note(`ended by ${code ?? signal}\n`);
        if (!this.#isEnding) this.faults.push(`${this.name} ended with ${code ?? signal}:\n${this.log.slice(-2000)}`);
        if (this.#child === child) this.#child = undefined;
        reject(new Error(`${this.name} ended with ${code ?? signal} before it answered:\n${this.log.slice(-3000)}`));
      });
    });
    this.#url = await url;
    this.links.aimAt(this.#url);
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Returns its exit code. */
  async leave(): Promise<number | null> {
    return this.#end('SIGTERM');
  }

  pause(): void {
    this.#isPaused = true;
    this.#child?.kill('SIGSTOP');
  }

  wake(): void {
    this.#isPaused = false;
    this.#child?.kill('SIGCONT');
  }

  async close(): Promise<void> {
    this.wake();
    await this.kill();
    await this.links.close();
    await this.storage.close();
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    if (child === undefined) return null;
    const exited = once(child, 'exit');
    this.#isEnding = true;
    child.kill(signal);
    await exited;
    return child.exitCode;
  }

  #note(text: string): void {
    this.log = `${this.log}${text}`.slice(-MAX_LOG);
    if (logFolder !== undefined) appendFileSync(`${logFolder}/${this.name}.log`, text);
  }
}
