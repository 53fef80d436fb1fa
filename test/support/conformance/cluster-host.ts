import { startServer } from '../../../src/node/server/server.ts';
import { newSchema } from '../postgres/postgres.ts';
import { ALLOWED_HOST, type Listen } from './node-host.ts';

/** Two servers in this process that share a storage on the PostgreSQL at that URL. Requests go to the one that does not own the list of databases. */
export function listenInCluster(postgres: string): Listen {
  /** One for each folder of a host. */
  const storages = new Map<string, string>();
  const listen: Listen = async (folder, config, port) => {
    const storage = storages.get(folder) ?? newSchema(postgres);
    storages.set(folder, storage);
    const log: string[] = [];
    const onLog = (entry: string) => void log.push(entry);
    const options = { host: '127.0.0.1', allowedHosts: [ALLOWED_HOST], storage, cluster: true, config, onLog };
    const first = await startServer({ ...options, port: 0 });
    const second = await startServer({ ...options, port });
    const close = async () => {
      await second.close();
      await first.close();
    };
    await answers(second.url, log);
    return { url: second.url, close };
  };
  const capabilities = {
    'one-process': 'each server has limits and counts of its own',
    'restart-request': 'a server that was asked by another one restarts alone',
  };
  return Object.assign(listen, { capabilities });
}

/** Of 20 ms and a request each: far more than a busy machine needs. */
const MAX_LOOKS = 3_000;

/** Resolves when the server serves beside the other one. */
async function answers(url: string, log: readonly string[]): Promise<void> {
  let text = '';
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    const response = await fetch(`${url}_up`);
    text = await response.text();
    if (response.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`the second server does not serve: ${text}\n${log.join('\n')}`);
}
