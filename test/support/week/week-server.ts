/** The built server as a process of its own, whose time the test advances: it can be killed, restarted, and replaced by another release. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { VERSION } from '../../../src/base/system/version.ts';
import { builtMain } from '../crash/server-process.ts';
import type { SimulatedTime } from './simulated-time.mjs';

const nodeModules = fileURLToPath(new URL('../../../node_modules', import.meta.url));
const timeModule = new URL('simulated-time.mjs', import.meta.url).href;

/** Runs before anything of the server has seen the time. Each message says how far ahead of real time it is from now on. */
const launcher = `
  const [main, aheadMs, ...options] = process.argv.slice(1);
  const { simulateTime } = await import(${JSON.stringify(timeModule)});
  const time = simulateTime(Number(aheadMs));
  process.on('message', (aheadMs) => {
    time.advance(aheadMs - time.aheadMs);
    process.send(aheadMs);
  });
  process.on('disconnect', () => process.exit());
  process.channel.unref();
  const server = await import(main);
  process.exitCode = await server.main(options);
`;

export class WeekServer {
  readonly dataFolder: string;
  readonly #root: string;
  readonly #time: SimulatedTime;
  #main = builtMain;
  #process: ChildProcess | undefined;
  #url: string | undefined;
  #output = '';

  private constructor(root: string, time: SimulatedTime) {
    this.#root = root;
    this.dataFolder = join(root, 'data');
    this.#time = time;
  }

  /** With no data, and not started. */
  static async create(time: SimulatedTime): Promise<WeekServer> {
    return new WeekServer(await mkdtemp(join(tmpdir(), 'settee-week-')), time);
  }

  /** Without a slash at its end; undefined while it does not run. */
  get url(): string | undefined {
    return this.#url;
  }

  /** Everything that all its processes wrote; at their log level the errors. */
  get output(): string {
    return this.#output;
  }

  async start(): Promise<void> {
    const serve = ['serve', '--no-demo', '--port', '0', '--data', this.dataFolder, '--log-level', 'error'];
    const options = [pathToFileURL(this.#main).href, String(this.#time.aheadMs), ...serve];
    const child = spawn(process.execPath, ['--input-type=module', '-e', launcher, '--', ...options], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#process = child;
    const begin = this.#output.length;
    this.#url = await new Promise<string>((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream?.setEncoding('utf8').on('data', (text: string) => {
          this.#output += text;
          const [, url] = /answers at (http:\/\/[\d.]+:\d+)\//.exec(this.#output.slice(begin)) ?? [];
          if (url !== undefined) resolve(url);
        });
      }
      child.once('exit', (code) => reject(new Error(`The server ended with ${code}:\n${this.#output}`)));
    });
  }

  /** Its time is that of the test from now on, also if the server is not running. */
  async follow(): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    const controller = new AbortController();
    const { signal } = controller;
    const events = ['message', 'exit'].map((event) => once(child, event, { signal }));
    child.send(this.#time.aheadMs, () => undefined);
    await Promise.race(events);
    for (const event of events) event.catch(() => undefined);
    controller.abort();
  }

  /** Ends it as a power failure does. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** Ends it in order. */
  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Ends it in order, and starts a release of that version: this build under another name. */
  async upgrade(version: string): Promise<void> {
    await this.stop();
    const folder = join(this.#root, version, 'dist', 'node');
    await mkdir(folder, { recursive: true });
    await cp(dirname(builtMain), folder, { recursive: true });
    await symlink(nodeModules, join(this.#root, version, 'node_modules'));
    this.#main = join(folder, 'main.js');
    const text = await readFile(this.#main, 'utf8');
    await writeFile(this.#main, text.replace(`VERSION = "${VERSION}"`, `VERSION = "${version}"`));
    await this.start();
  }

  async close(): Promise<void> {
    await this.kill();
    await rm(this.#root, { recursive: true, force: true });
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    this.#url = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }
}
