import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const repository = join(import.meta.dirname, '..', '..', '..');
const bootstrap = join(repository, 'src', 'node', 'bootstrap.mjs');

/** The command `settee` as a process of its own, begun as `npm start` begins it. */
export class SetteeProcess {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;

  /**
   * `preload`: the path of a module that is loaded first, and that hears what is sent to the child. `descriptors`: how many files it may
   * have open at most.
   */
  constructor(argv: readonly string[], preload?: string, descriptors?: number) {
    const node = preload === undefined ? [] : ['--import', preload];
    const stdio: StdioOptions = ['pipe', 'pipe', 'pipe', ...(preload === undefined ? [] : (['ipc'] as const))];
    const command = [process.execPath, ...node, bootstrap, ...argv];
    const limited = descriptors === undefined ? [] : ['sh', '-c', 'ulimit -n "$0"; exec "$@"', `${descriptors}`];
    const [program = '', ...rest] = [...limited, ...command];
    this.child = spawn(program, rest, { cwd: repository, stdio });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      // Said when a source has changed since the build; not what any test is about.
      this.stderr += text.replace(/^(Building|Installing) .*\n/gm, '');
    });
    this.exited = once(this.child, 'close').then(([code, signal]) => ({ code, signal }));
  }

  /** The start-up line, or an error with what the process said instead. */
  async startUpLine(): Promise<string> {
    const { stdout } = this.child;
    if (!stdout) throw new Error('the process has no stdout');
    const line = once(createInterface(stdout), 'line').then(([text]) => String(text));
    const ended = this.exited.then(() => Promise.reject(new Error(`it ended instead: ${this.stderr}`)));
    ended.catch(() => undefined);
    return Promise.race([line, ended]);
  }

  /** Resolves when it has said that on stderr; fails where it ends before. */
  async says(what: RegExp): Promise<void> {
    let isOver = false;
    const ended = this.exited.then(() => {
      isOver = true;
    });
    while (!what.test(this.stderr)) {
      if (isOver) throw new Error(`it ended instead: ${this.stderr}`);
      await Promise.race([ended, this.child.stderr && once(this.child.stderr, 'data')]);
    }
  }

  async url(): Promise<string> {
    const url = / answers at (\S+) /.exec(await this.startUpLine())?.[1];
    if (url === undefined) throw new Error(`no address in: ${this.stdout}`);
    return url;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal);
    await this.exited;
  }
}
