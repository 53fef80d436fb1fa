/** PouchDB on LevelDB in a process of its own, to be killed. A server of this process passes requests on to it, always at the same address. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { at } from '../conformance/json.ts';
import { PouchServer, type ServedDatabase } from './pouch-server.ts';
import { TcpRelay } from './tcp-relay.ts';

interface Waiting {
  resolve(result: unknown): void;
  reject(failure: Error): void;
}

class PouchProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;
  #isKilled = false;

  /** `onCrash`: called if it ends by itself, as PouchDB sometimes does when a connection breaks off. */
  private constructor(child: ChildProcess, onCrash: () => void) {
    this.#child = child;
    child.on('message', (message) => this.#take(message));
    child.once('exit', (code, signal) => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`PouchDB's process ended with ${code ?? signal}`));
      this.#waiting.clear();
      if (!this.#isKilled) onCrash();
    });
  }

  static async start(folder: string, revsLimit: number, onCrash: () => void): Promise<PouchProcess> {
    const program = new URL('pouch-program.mjs', import.meta.url);
    const child = fork(program, [folder, String(revsLimit)], { serialization: 'advanced', execArgv: [] });
    await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code]) =>
        Promise.reject(new Error(`PouchDB's process ended with ${code} at its start`)),
      ),
    ]);
    return new PouchProcess(child, onCrash);
  }

  ask(method: string, given: readonly unknown[]): Promise<unknown> {
    const number = ++this.#asked;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      this.#child.send({ number, method, given }, (failure) => {
        if (failure !== null) reject(failure);
      });
    });
  }

  async kill(): Promise<void> {
    this.#isKilled = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  #take(message: unknown): void {
    const number = Number(at(message, 'number'));
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    const failure = at(message, 'failure');
    const { name, reason, status } = Object(failure);
    if (failure === undefined) waiting?.resolve(at(message, 'result'));
    else waiting?.reject(Object.assign(new Error(`PouchDB: ${status} ${reason}`), { name, reason, status }));
  }
}

export class KillablePouch {
  readonly #folder: string;
  readonly #revsLimit: number;
  #process: PouchProcess;
  #restarted: Promise<void> = Promise.resolve();
  #server: PouchServer | undefined;
  #relay: TcpRelay | undefined;
  kills = 0;

  private constructor(folder: string, revsLimit: number, process: PouchProcess) {
    this.#folder = folder;
    this.#revsLimit = revsLimit;
    this.#process = process;
  }

  static async start(revsLimit: number): Promise<KillablePouch> {
    const folder = await mkdtemp(join(tmpdir(), 'settee-pouch-'));
    let begun: KillablePouch | undefined;
    const process = await PouchProcess.start(join(folder, 'db'), revsLimit, () => begun?.beginAgain());
    const pouch = new KillablePouch(folder, revsLimit, process);
    begun = pouch;
    pouch.#server = await PouchServer.start(pouch.database);
    pouch.#relay = await TcpRelay.start(new URL(pouch.#server.url).origin);
    return pouch;
  }

  /** In front of the server. */
  get relay(): TcpRelay {
    if (this.#relay === undefined) throw new Error('it was not started');
    return this.#relay;
  }

  /** Without live feeds. */
  readonly database: ServedDatabase = {
    info: () => this.ask('info'),
    get: (...given) => this.ask('get', ...given),
    put: async (...given) => {
      const { id, rev } = Object(await this.ask('put', ...given));
      return { id: String(id), rev: String(rev) };
    },
    revsDiff: (...given) => this.ask('revsDiff', ...given),
    bulkDocs: async (...given) => Array.from(Object(await this.ask('bulkDocs', ...given))),
    getAttachment: (...given) => this.ask('getAttachment', ...given),
    changes: (...given) => {
      const on = () => {
        throw new Error('live feeds are not passed on');
      };
      return Object.assign(this.ask('changes', ...given), { on, cancel: () => undefined });
    },
  };

  /** Calls a method of the database in its process, or `replicate`. Rejects when the process is killed. */
  ask(method: string, ...given: readonly unknown[]): Promise<unknown> {
    return this.#process.ask(method, given);
  }

  /** Resolves when the last kill is over, and the next process has opened the same folder. */
  restarted(): Promise<void> {
    return this.#restarted;
  }

  /** Its connections break off, and it is not reachable until the next process has opened the folder. */
  kill(): Promise<void> {
    this.kills++;
    this.beginAgain();
    return this.#restarted;
  }

  beginAgain(): void {
    this.#restarted = this.#restarted.catch(() => undefined).then(() => this.#restart());
    this.#restarted.catch(() => undefined);
  }

  async #restart(): Promise<void> {
    const port = await this.relay.refuse();
    await this.#process.kill();
    this.#process = await PouchProcess.start(join(this.#folder, 'db'), this.#revsLimit, () => this.beginAgain());
    await this.relay.listen(port);
  }

  async close(): Promise<void> {
    await this.#relay?.close();
    await this.#server?.close();
    await this.#process.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
