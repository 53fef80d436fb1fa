import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = new URL('../../../', import.meta.url);
export const builtMain = fileURLToPath(new URL('dist/node/main.js', root));
const bootstrap = fileURLToPath(new URL('src/node/bootstrap.mjs', root));

/** The command line without the check for newer sources, which would rebuild when a source changes meanwhile. */
const launcher = `
  const { main } = await import(${JSON.stringify(pathToFileURL(builtMain).href)});
  process.exitCode = await main(process.argv.slice(1));
`;

/** Builds the server if the build is missing or older than the sources. */
export function buildServer(): void {
  const { status, stderr } = spawnSync(process.execPath, [bootstrap, '--version'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`The server could not be built:\n${stderr}`);
}

/** The built server as a process of its own, on a port of its own, to be killed. */
export class ServerProcess {
  readonly url: URL;
  readonly #process: ChildProcessByStdio<null, Readable, Readable>;
  readonly #output: () => string;

  private constructor(child: ChildProcessByStdio<null, Readable, Readable>, url: URL, output: () => string) {
    this.#process = child;
    this.url = url;
    this.#output = output;
  }

  /** Resolves when it answers; rejects with its output if it ends before. `place`: a data folder, or the URL of a storage in PostgreSQL. */
  static async start(place: string): Promise<ServerProcess> {
    const home = place.startsWith('postgres:') ? '--storage' : '--data';
    const serve = ['serve', '--no-demo', '--port', '0', home, place, '--log-level', 'error'];
    const child = spawn(process.execPath, ['--input-type=module', '-e', launcher, '--', ...serve], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const url = await new Promise<string>((resolve, reject) => {
      const onText = (text: string) => {
        output += text;
        const [found] = /http:\/\/[\d.]+:\d+\//.exec(output) ?? [];
        if (found !== undefined) resolve(found);
      };
      child.stdout.setEncoding('utf8').on('data', onText);
      child.stderr.setEncoding('utf8').on('data', onText);
      child.once('exit', (code) => reject(new Error(`The server ended with ${code} before it answered:\n${output}`)));
    });
    return new ServerProcess(child, new URL(url), () => output);
  }

  /** Everything that it wrote on stdout and stderr; at this log level the errors. */
  get output(): string {
    return this.#output();
  }

  /** Ends it as a power failure ends a process: at once, whatever it is doing. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Ends it in order. Returns its exit code. */
  async stop(): Promise<number | null> {
    await this.#end('SIGTERM');
    return this.#process.exitCode;
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    this.#process.kill(signal);
    await exited;
  }
}
