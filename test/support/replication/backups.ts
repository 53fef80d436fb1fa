/** A Node server in this process on a folder that can be copied while it is down, and restored: always at the same address. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../../../src/node/server/server.ts';

type Server = Awaited<ReturnType<typeof startServer>>;

export class RestorableServer {
  readonly #root: string;
  #server: Server;

  private constructor(root: string, server: Server) {
    this.#root = root;
    this.#server = server;
  }

  static async start(): Promise<RestorableServer> {
    const root = await mkdtemp(join(tmpdir(), 'settee-backups-'));
    return new RestorableServer(root, await listen(join(root, 'data'), 0));
  }

  /** Without a slash at its end. */
  get url(): string {
    return this.#server.url.replace(/\/$/, '');
  }

  /** `whileDown` gets the data folder, and a place for a copy of it. */
  async restart(whileDown: (data: string, backup: string) => Promise<void> = async () => {}): Promise<void> {
    const port = Number(new URL(this.url).port);
    const data = join(this.#root, 'data');
    await this.#server.close();
    await whileDown(data, join(this.#root, 'backup'));
    this.#server = await listen(data, port);
  }

  backUp(): Promise<void> {
    return this.restart((data, backup) => cp(data, backup, { recursive: true }));
  }

  restore(): Promise<void> {
    return this.restart(async (data, backup) => {
      await rm(data, { recursive: true });
      await cp(backup, data, { recursive: true });
    });
  }

  async close(): Promise<void> {
    await this.#server.close();
    await rm(this.#root, { recursive: true, force: true });
  }
}

function listen(dataFolder: string, port: number): Promise<Server> {
  return startServer({ port, host: '127.0.0.1', dataFolder, onLog: () => {} });
}
