import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const repository = join(import.meta.dirname, '../..');

/** The package as it would be published, in a folder of its own. */
export interface PackedSettee {
  readonly tarball: string;
  /** Packs one of the other packages of this repository. Resolves to its tarball. */
  packOther(name: 'settee-server' | 'create-settee'): Promise<string>;
  remove(): void;
}

export async function packSettee(): Promise<PackedSettee> {
  const folder = mkdtempSync(join(tmpdir(), 'settee-packed-'));
  await run(process.execPath, [join(repository, 'src/packages/build/prepack.mjs')], { cwd: repository });
  return {
    tarball: await pack('.', folder),
    packOther: (name) => pack(`./dist/packages/${name}`, folder),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

/** Packs the package in `source`, a folder of the repository. Resolves to the file in `folder`. */
async function pack(source: string, folder: string): Promise<string> {
  const options = ['pack', source, '--json', '--ignore-scripts', '--pack-destination', folder];
  const { stdout } = await run('npm', options, { cwd: repository, maxBuffer: 64 * 1024 * 1024 });
  const packed: unknown = JSON.parse(stdout);
  const [first] = Array.isArray(packed) ? packed : Object.values(Object(packed));
  return join(folder, String(first.filename));
}

/** Somebody who does what a page says, in an empty folder. */
export class WalkThrough {
  readonly folder = mkdtempSync(join(tmpdir(), 'settee-recipe-'));
  readonly #folders = [this.folder];
  readonly #settee: Pick<PackedSettee, 'tarball'>;
  readonly #running: ChildProcess[] = [];
  /** Where programs are looked for first. */
  #programs: string | undefined;

  constructor(settee: Pick<PackedSettee, 'tarball'>) {
    this.#settee = settee;
  }

  write(files: Iterable<readonly [string, string]>): void {
    for (const [name, text] of files) {
      mkdirSync(dirname(join(this.folder, name)), { recursive: true });
      writeFileSync(join(this.folder, name), text);
    }
  }

  /** For what wants a newer Node than the one of the tests: one from npm's registry. */
  async useNode(major: number): Promise<void> {
    if (Number.parseInt(process.versions.node, 10) >= major) return;
    const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
    const folder = mkdtempSync(join(tmpdir(), 'settee-node-'));
    this.#folders.push(folder);
    await this.run(`npm install --prefix ${folder} ${name}@${major}`);
    this.#programs = join(folder, 'node_modules', name, 'bin');
  }

  /** Resolves to what it prints on stdout. Rejects with everything that it prints. */
  async run(command: string): Promise<string> {
    try {
      const options = { cwd: this.folder, env: this.#environment, maxBuffer: 64 * 1024 * 1024 };
      const { stdout } = await run('bash', ['-c', this.#adapted(command)], options);
      return stdout;
    } catch (error) {
      const output =
        error instanceof Error && 'stdout' in error && 'stderr' in error ? `${error.stdout}${error.stderr}` : '';
      throw new Error(`${command}\n${error}\n${output}`);
    }
  }

  /** Begins a command that does not end by itself. Resolves to the address that it prints. */
  async serve(command: string): Promise<string> {
    // A process group, as a terminal gives it to what runs in it.
    const child = spawn('bash', ['-c', this.#adapted(command)], {
      cwd: this.folder,
      env: this.#environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#running.push(child);
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
      });
    }
    const ended = once(child, 'close').then(() => Promise.reject(new Error(`${command} ended:\n${printed}`)));
    ended.catch(() => undefined);
    for (;;) {
      const address = /https?:\/\/(?:localhost|127\.0\.0\.1):\d+(?=\D)/.exec(printed)?.[0];
      if (address !== undefined) return `${address}/`;
      await Promise.race([ended, child.stdout && once(child.stdout, 'data')]);
    }
  }

  /** What Ctrl-C does, to all that was begun by `serve`. */
  async stop(): Promise<void> {
    for (const child of this.#running.splice(0)) {
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) continue;
      const closed = once(child, 'close');
      process.kill(-child.pid, 'SIGINT');
      await closed;
    }
  }

  async remove(): Promise<void> {
    await this.stop();
    for (const folder of this.#folders) rmSync(folder, { recursive: true });
  }

  /** The package is not in the registry. What is in npm's cache is not asked for again. */
  #adapted(command: string): string {
    return command.replace(/^(npm install\b.*?) settee(?=\s|$)/, `$1 ${this.#settee.tarball}`);
  }

  get #environment(): NodeJS.ProcessEnv {
    const { NODE_ENV: _, VITEST: __, ...environment } = process.env;
    const quiet = {
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
      npm_config_yes: 'true',
    };
    const path = [this.#programs, environment['PATH']].filter((part) => part !== undefined).join(delimiter);
    return {
      ...environment,
      PATH: path,
      ...quiet,
      ELECTRON_SKIP_BINARY_DOWNLOAD: '1',
      npm_config_prefer_offline: 'true',
      NO_COLOR: '1',
      CI: 'true',
    };
  }
}
