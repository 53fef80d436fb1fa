/** The built server as a process on a data folder, which can be killed and is started again on the same folder; its relay's address stays. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerProcess } from '../crash/server-process.ts';
import { TcpRelay } from './tcp-relay.ts';

export class KillableServer {
  readonly #folder: string;
  #process: ServerProcess;
  #restarted: Promise<void> = Promise.resolve();
  readonly relay: TcpRelay;
  kills = 0;

  private constructor(folder: string, process: ServerProcess, relay: TcpRelay) {
    this.#folder = folder;
    this.#process = process;
    this.relay = relay;
  }

  static async start(): Promise<KillableServer> {
    const folder = await mkdtemp(join(tmpdir(), 'settee-histories-'));
    const process = await ServerProcess.start(folder);
    return new KillableServer(folder, process, await TcpRelay.start(process.url.origin));
  }

  /** Without the relay; without a slash at its end. Another one after each kill. */
  get origin(): string {
    return this.#process.url.origin;
  }

  /** What the processes since the last kill logged: only errors. */
  get output(): string {
    return this.#process.output;
  }

  /** Resolves when the last kill is over, and the next process answers. */
  restarted(): Promise<void> {
    return this.#restarted;
  }

  kill(): Promise<void> {
    this.kills++;
    this.#restarted = this.#restart();
    return this.#restarted;
  }

  async #restart(): Promise<void> {
    await this.#process.kill();
    this.#process = await ServerProcess.start(this.#folder);
    this.relay.aimAt(this.origin);
  }

  async close(): Promise<void> {
    await this.relay.close();
    await this.#process.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
