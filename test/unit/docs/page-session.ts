import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { pause } from '../../../src/base/shared/clock.ts';
import { repository } from './pages.ts';

const run = promisify(execFile);

/**
 * Somebody who does what a page says, in the folder of the clone: the data folder is empty at first, and the server is on a free port.
 * What the page writes below `/tmp/` goes to a folder of the session's own.
 */
export class PageSession {
  readonly #folder: string;
  #server: ChildProcess | undefined;
  #port = '';
  #hasUsedNpx = false;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async open(): Promise<PageSession> {
    const folder = await mkdtemp(join(tmpdir(), 'settee-docs-'));
    await mkdir(join(folder, 'tmp'));
    return new PageSession(folder);
  }

  /** What the command prints, as the page would show it. */
  run(command: string): Promise<string> {
    return command === 'npm start' ? this.start() : this.#runCommand(command);
  }

  /** `npm start`, after Ctrl-C where it runs already. Gives the start-up line. */
  async start(): Promise<string> {
    await this.#stop();
    const started = spawn('npm', ['start', '--', '--port', '0', '--data', this.#dataFolder], {
      cwd: repository,
      stdio: ['ignore', 'pipe', 'ignore'],
      // A process group, as a terminal gives it to what runs in it.
      detached: true,
    });
    this.#server = started;
    for await (const line of createInterface(started.stdout)) {
      this.#port = /^Settee .* answers at http:\/\/127\.0\.0\.1:(\d+)\//.exec(line)?.[1] ?? '';
      if (this.#port !== '') return line.replace(this.#port, '5984');
    }
    throw new Error('npm start ended without a start-up line');
  }

  async close(): Promise<void> {
    await this.#stop();
    await rm(this.#folder, { recursive: true });
  }

  /** Where the server is, without a slash at its end. */
  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get #dataFolder(): string {
    return join(this.#folder, 'data');
  }

  async #runCommand(command: string): Promise<string> {
    const here = command.replaceAll(':5984', `:${this.#port}`).replaceAll('/tmp/', `${this.#folder}/tmp/`);
    const { stdout } = await run('bash', ['-c', this.#withoutNpx(here)], {
      cwd: repository,
      env: { ...process.env, SETTEE_DATA: this.#dataFolder },
    });
    // It is answered before it is over, and what commands that come later show is what it leaves.
    if (command.includes('/_compact')) await this.#compacted();
    // As a terminal shows it: lines may end in carriage returns, such as those of lists and of headers.
    return stdout.trim().replaceAll('\r\n', '\n').replaceAll(`:${this.#port}`, ':5984');
  }

  /** npx shows once in a session that it finds the command, which takes it a second. */
  #withoutNpx(command: string): string {
    if (!command.startsWith('npx settee ')) return command;
    if (this.#hasUsedNpx) return command.replace('npx settee ', 'node_modules/.bin/settee ');
    this.#hasUsedNpx = true;
    return command;
  }

  /** Resolves when no compaction runs any more. */
  async #compacted(): Promise<void> {
    for (;;) {
      const tasks = await (await fetch(`http://127.0.0.1:${this.#port}/_active_tasks`)).text();
      if (!tasks.includes('_compaction"')) return;
      await pause(20);
    }
  }

  /** What Ctrl-C does: the terminal signals the whole group. */
  async #stop(): Promise<void> {
    if (this.#server?.pid === undefined) return;
    const closed = once(this.#server, 'close');
    process.kill(-this.#server.pid, 'SIGINT');
    this.#server = undefined;
    await closed;
  }
}
