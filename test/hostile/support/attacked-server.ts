import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert } from 'vitest';
import { at } from '../../support/conformance/json.ts';
import { SetteeProcess } from '../../unit/node/settee-process.ts';
import { HttpClient } from './http-client.ts';
import { unwatchServer, watchServer } from './observation.ts';
import { noProcessFiles } from './process-use.ts';

export interface StartOptions {
  /** As for `--set`: `section/key=value`. */
  readonly settings?: readonly string[];
  /** Further arguments of `settee serve`. */
  readonly argv?: readonly string[];
  /** How many files the process may have open. */
  readonly descriptors?: number;
  /** An existing data folder, which stays when the server is removed. */
  readonly folder?: string;
  /** Its turns are not measured unless somebody asks for it: it is to have nothing to do. */
  readonly isAtRest?: boolean;
}

export interface CommandOutcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Tells for how long the server's thread is held; where the system does. */
const TURN_PROBE = noProcessFiles === undefined ? new URL('turn-probe.mjs', import.meta.url).href : undefined;

/** Runs the command line to its end. `input` is its standard input. */
export async function settee(argv: readonly string[], input?: string | Uint8Array): Promise<CommandOutcome> {
  const command = new SetteeProcess(argv);
  command.child.stdin?.end(input);
  const { code } = await command.exited;
  return { code, stdout: command.stdout, stderr: command.stderr };
}

/** The server as a process of its own on a data folder of its own, which outlives its restarts. */
export class AttackedServer {
  readonly folder: string;
  readonly #options: StartOptions;
  #process: SetteeProcess;
  #client: HttpClient;
  /** What earlier processes wrote on stderr. */
  #earlierLog = '';

  private constructor(folder: string, options: StartOptions, process: SetteeProcess, client: HttpClient) {
    this.folder = folder;
    this.#options = options;
    this.#process = process;
    this.#client = client;
  }

  static async start(options: StartOptions = {}): Promise<AttackedServer> {
    const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'settee-hostile-')));
    const { process, client } = await launch(folder, options);
    const server = new AttackedServer(folder, options, process, client);
    await watchServer(server, options.isAtRest !== true);
    return server;
  }

  get client(): HttpClient {
    return this.#client;
  }

  get url(): URL {
    return this.#client.url;
  }

  /** False when the process has ended, by itself or not. */
  get isRunning(): boolean {
    const { exitCode, signalCode } = this.#process.child;
    return exitCode === null && signalCode === null;
  }

  get log(): string {
    return this.#earlierLog + this.#process.stderr;
  }

  /** Ends in order, which must succeed. */
  async stop(): Promise<void> {
    await unwatchServer(this);
    this.#client.close();
    await this.#process.stop();
    const { code } = await this.#process.exited;
    assert.equal(code, 0, `the server's exit code; its log: ${this.log.slice(-2_000)}`);
  }

  async kill(): Promise<void> {
    this.#client.close();
    await this.#process.stop('SIGKILL');
  }

  /** After `stop` or `kill`. */
  async startAgain(): Promise<void> {
    this.#earlierLog += this.#process.stderr;
    const { process, client } = await launch(this.folder, this.#options);
    this.#process = process;
    this.#client = client;
    await watchServer(this, this.#options.isAtRest !== true);
  }

  /** `settee verify` on the folder; the server must not run. */
  verify(): Promise<CommandOutcome> {
    return settee(['verify', '--data', this.folder]);
  }

  get pid(): number {
    return this.#process.child.pid ?? assert.fail('the process has no number');
  }

  /** From now on the turns of the server's thread are measured. */
  async beginTurns(): Promise<void> {
    if (TURN_PROBE !== undefined) await this.#tellProbe('begin');
  }

  /** How many milliseconds of processor time the longest turn since `beginTurns` took. Undefined where the system does not tell. */
  async longestTurn(): Promise<number | undefined> {
    return TURN_PROBE === undefined ? undefined : Number(at(await this.#tellProbe('end'), 'longest'));
  }

  async #tellProbe(message: 'begin' | 'end'): Promise<unknown> {
    const { child } = this.#process;
    const answer = once(child, 'message');
    child.send(message);
    const [value] = await answer;
    return value;
  }

  /** Ends the process whatever it does, and removes the folder where it made it. */
  async remove(): Promise<void> {
    if (this.isRunning) await unwatchServer(this);
    await this.kill();
    if (this.#options.folder === undefined) await rm(this.folder, { recursive: true, force: true });
  }
}

async function launch(folder: string, { settings = [], argv = [], descriptors }: StartOptions) {
  const set = settings.flatMap((setting) => ['--set', setting]);
  const process = new SetteeProcess(
    ['serve', '--no-demo', '--port', '0', '--data', folder, ...set, ...argv],
    TURN_PROBE,
    descriptors,
  );
  return { process, client: new HttpClient(new URL(await process.url())) };
}
