/** The image of docs/operations/Containerfile without an image: its steps in a folder, and its process where it can write nothing else. */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const file = readFileSync(join(import.meta.dirname, '../../docs/operations/Containerfile'), 'utf8');
const USER = 'nobody';
/** Debian's; elsewhere the process is not confined. */
const GROUP = 'nogroup';

/** The last stage, each instruction with its text on one line. */
function instructions(): { readonly name: string; readonly text: string }[] {
  const stage = file
    .slice(file.lastIndexOf('\nFROM '))
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n/g, ' ');
  return [...stage.matchAll(/^([A-Z]+) (.*)$/gm)].map(([, name = '', text = '']) => ({ name, text }));
}

function instruction(name: string): string {
  const found = instructions().find((one) => one.name === name);
  if (found === undefined) throw new Error(`the Containerfile has no ${name}`);
  return found.text;
}

function listOf(text: string): string[] {
  return JSON.parse(text.slice(text.indexOf('[')));
}

export class Container {
  readonly #folder: string;
  readonly #isRoot = process.getuid?.() === 0;
  readonly #canSwitch: boolean;
  readonly #data: string;
  readonly #temporary: string;
  readonly #port: number;

  /** `folder`: everything is below it, and everybody may enter it. */
  constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
    this.#data = join(folder, 'var/lib/settee');
    this.#temporary = join(folder, 'tmp');
    mkdirSync(this.#temporary, { recursive: true });
    chmodSync(folder, 0o755);
    chmodSync(this.#temporary, 0o1777);
    this.#canSwitch =
      this.#isRoot &&
      spawnSync('unshare', [
        '--mount',
        'setpriv',
        '--reuid',
        USER,
        '--regid',
        GROUP,
        '--clear-groups',
        process.execPath,
        '--version',
      ]).status === 0;
  }

  /** Whether its process runs as another user, with a root file system that it can't write. */
  get isConfined(): boolean {
    return this.#canSwitch;
  }

  /** Runs the steps of the last stage. Fails with what they print. */
  install(packed: string): void {
    const place = join(this.#folder, 'packed');
    mkdirSync(place);
    copyFileSync(packed, join(place, basename(packed)));
    const owner = this.#canSwitch ? `--owner=${USER}` : '';
    const steps = instruction('RUN')
      .replaceAll('/packed', place)
      .replaceAll('/var/lib/settee', this.#data)
      .replace('--owner=node --group=node', owner)
      // It is the machine's own.
      .replace('npm cache clean --force', 'true');
    mkdirSync(join(this.#data, '..'), { recursive: true });
    const variables = { npm_config_prefix: join(this.#folder, 'usr'), npm_config_prefer_offline: 'true' };
    const npm = { npm_config_audit: 'false', npm_config_fund: 'false', npm_config_update_notifier: 'false' };
    const env = { ...process.env, ...variables, ...npm };
    execFileSync('sh', ['-euc', steps], { env, stdio: 'pipe', encoding: 'utf8' });
  }

  /** Starts what the image starts, or its entry point with other arguments. */
  run(argv: readonly string[] = listOf(instruction('CMD'))): ChildProcessWithoutNullStreams {
    return this.#spawn([...listOf(instruction('ENTRYPOINT')), ...argv]);
  }

  /** Resolves with the exit code of the check. */
  async isHealthy(): Promise<boolean> {
    const [code] = await once(this.#spawn(listOf(instruction('HEALTHCHECK'))), 'exit');
    return code === 0;
  }

  #spawn(command: readonly string[]): ChildProcessWithoutNullStreams {
    const set = Object.fromEntries(
      instruction('ENV')
        .split(' ')
        .map((pair) => pair.split('=')),
    );
    const path = `${join(this.#folder, 'usr/bin')}:${process.env['PATH']}`;
    const own = {
      SETTEE_DATA: this.#data,
      SETTEE_PORT: `${this.#port}`,
      TMPDIR: this.#temporary,
      PATH: path,
      HOME: '/',
    };
    const options = { env: { ...set, ...own }, cwd: '/' };
    if (!this.#canSwitch) return spawn(command[0] ?? '', command.slice(1), options);
    const writable = [this.#data, this.#temporary].map((folder) => `mount --bind '${folder}' '${folder}'`);
    const script = [
      ...writable,
      'mount -o remount,bind,ro /',
      // Other file systems of the machine below it, which can't all be made read-only, belong to other users.
      `exec setpriv --reuid ${USER} --regid ${GROUP} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all -- "$@"`,
    ];
    return spawn('unshare', ['--mount', 'sh', '-euc', script.join('\n'), 'sh', ...command], options);
  }

  /** Whether a process of the image could write there. */
  async canWrite(folder: 'data' | 'tmp' | 'usr'): Promise<boolean> {
    const place = { data: this.#data, tmp: this.#temporary, usr: join(this.#folder, 'usr') }[folder];
    const [code] = await once(this.#spawn(['touch', join(place, 'written')]), 'exit');
    return code === 0;
  }
}
