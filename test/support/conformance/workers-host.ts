import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../../../src/node/server/server.ts';
import { type ReaderProcess, startReader } from '../../../src/node/workers/reader-process.ts';
import { ALLOWED_HOST, type Listen } from './node-host.ts';

const feedsGoOn = 'feeds at readers go on while the owner restarts';

/** The owner and a reader of `serve --workers`, both in this process. `test/unit/node/workers` has them in processes of their own. */
export const listenThroughReader: Listen = Object.assign(
  async (...[dataFolder, config, port]: Parameters<Listen>) => {
    const folder = await mkdtemp(join(tmpdir(), 'settee-readers-'));
    const forwarding = { path: join(folder, 'owner'), secret: 'of this server' };
    const options = { port, host: '127.0.0.1', allowedHosts: [ALLOWED_HOST], dataFolder, config, onLog: () => {} };
    const readers: ReaderProcess[] = [];
    const onListening = async () => {
      const reader = await startReader({ type: 'start', role: 'reader', readers: 1, options, ...forwarding });
      readers.push(reader);
      return reader.url;
    };
    const owner = await startServer({
      ...options,
      readers: { ...forwarding, onListening, status: () => ({ accepting: 1, restarts: 0, ownerRestarts: 0 }) },
    });
    return {
      url: owner.url,
      close: async () => {
        await Promise.all([owner.close(), ...readers.map((reader) => reader.close())]);
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
  {
    capabilities: { 'restart-request': feedsGoOn, restart: 'LMDB shares one environment among owner and reader here' },
  },
);
