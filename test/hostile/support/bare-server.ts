import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

const SETTLED_MS = 1_500;

/**
 * How long, in milliseconds, a neighbour of a bare `node:http` server waits at most while somebody does that to it. Such a server does nothing with a request,
 * but Node handles all requests that have come before it lets anything else happen.
 */
export async function waitBesideBareServer<P>({
  prepare,
  disturb,
}: {
  readonly prepare: (url: URL) => Promise<P>;
  readonly disturb: (prepared: P) => Promise<unknown>;
}): Promise<number> {
  const servers = await Promise.all([startBareServer(), startBareServer()]);
  const [url = '', idleUrl = ''] = servers.map(([, address]) => address);
  const worker = new Worker(new URL('neighbour-worker.mjs', import.meta.url), { workerData: { url, idleUrl } });
  const tell = async (message: 'begin' | 'end') => {
    const answer = once(worker, 'message');
    worker.postMessage(message);
    const [measured] = await answer;
    return measured;
  };
  try {
    // The neighbour has its connection before others come, and an answer on it before they begin.
    await tell('begin');
    await delay(SETTLED_MS);
    const prepared = await prepare(new URL(url));
    await delay(SETTLED_MS);
    await tell('begin');
    await disturb(prepared);
    const { latencies } = await tell('end');
    return Math.max(0, ...latencies);
  } finally {
    await worker.terminate();
    for (const [server] of servers) server.disconnect();
  }
}

/** It ends when it is disconnected. */
export async function startBareServer(): Promise<[process: ChildProcess, url: string]> {
  const server = fork(new URL('idle-server.mjs', import.meta.url));
  const [url] = await once(server, 'message');
  return [server, url];
}
