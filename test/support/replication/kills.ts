/** A server that is killed while it replicates, again and again at random moments, and must continue from where it was. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { arrayAt, at, numberAt } from '../conformance/json.ts';
import { ServerProcess } from '../crash/server-process.ts';
import type { SeededRandom } from '../seeded-random.ts';

export interface KilledReplication {
  readonly direction: 'pull' | 'push';
  readonly documents: number;
  readonly kills: number;
  readonly random: SeededRandom;
}

const BATCH = 100;

export async function replicateWithKills({ direction, documents, kills, random }: KilledReplication): Promise<string> {
  const folders = await Promise.all(['replicator', 'other'].map((name) => mkdtemp(join(tmpdir(), `settee-${name}-`))));
  const [ownFolder = '', otherFolder = ''] = folders;
  const other = await ServerProcess.start(otherFolder);
  let own = await ServerProcess.start(ownFolder);
  try {
    const elsewhere = `${other.url.href}db`;
    const source = () => (direction === 'pull' ? elsewhere : `${own.url.href}db`);
    const target = () => (direction === 'pull' ? `${own.url.href}db` : elsewhere);
    await Promise.all([put(source()), put(target())]);
    await fill(source(), documents);
    const request = {
      ...(direction === 'pull' ? { source: elsewhere, target: 'db' } : { source: 'db', target: elsewhere }),
      checkpoint_interval: 30,
      worker_batch_size: BATCH,
      worker_processes: 1,
    };
    let done = 0;
    for (let reached = 0; done < kills; done++) {
      const before = await countAt(target());
      // So that work is left for each of the kills, however fast the machine is.
      const share = Math.floor((documents - before) / (kills - done + 1));
      const enough = before + random.between(Math.min(BATCH, share), share);
      const outcome = ask('POST', `${own.url.href}_replicate`, request).catch(() => 'killed');
      const isAtWork = async () => {
        const checkpoint = await checkpointAt(own.url.href);
        if (checkpoint <= reached || (await countAt(target())) < enough) return false;
        reached = checkpoint;
        return true;
      };
      // Too little work is left for another attempt.
      if (!(await comesToPass(isAtWork, outcome))) break;
      await own.kill();
      await outcome;
      own = await ServerProcess.start(ownFolder);
    }
    const result = await ask('POST', `${own.url.href}_replicate`, request);
    expectResumed(result, done);
    expect(await listAt(target())).toEqual(await listAt(source()));
    return `killed ${done} times; the last attempt began at ${at(result, 'history', 0, 'start_last_seq')}`;
  } finally {
    await Promise.all([own.kill(), other.kill()]);
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
  }
}

/** Each session of the history begins where the one before had its last checkpoint, and only the first one at zero. */
function expectResumed(result: unknown, kills: number): void {
  const history = arrayAt(result, 'history');
  if (kills > 0 && at(result, 'no_changes') !== true) {
    expect(numberAt(result, 'history', 0, 'start_last_seq')).toBeGreaterThan(0);
  }
  for (const [index, session] of history.entries()) {
    const former = history[index + 1];
    expect(at(session, 'start_last_seq')).toBe(former === undefined ? 0 : at(former, 'recorded_seq'));
    expect(at(session, 'doc_write_failures')).toBe(0);
  }
}

async function fill(database: string, documents: number): Promise<void> {
  for (let from = 0; from < documents; from += 1_000) {
    const count = Math.min(1_000, documents - from);
    const docs = Array.from({ length: count }, (_, index) => ({ _id: `doc-${from + index}`, text: 'x'.repeat(200) }));
    await ask('POST', `${database}/_bulk_docs`, { docs });
  }
}

/** Returns false if the attempt ended before. */
async function comesToPass(isTrue: () => Promise<boolean>, outcome: Promise<unknown>): Promise<boolean> {
  let isOver = false;
  void outcome.then(() => {
    isOver = true;
  });
  while (!isOver) {
    if (await isTrue()) return true;
    await sleep(10);
  }
  return false;
}

/** The sequence of the replication's checkpoint; 0 if it has none, or no longer runs. */
async function checkpointAt(server: string): Promise<number> {
  const [job] = arrayAt(await ask('GET', `${server}_scheduler/jobs`), 'jobs');
  return Number(at(job, 'info', 'checkpointed_source_seq') ?? 0);
}

async function countAt(database: string): Promise<number> {
  return numberAt(await ask('GET', database), 'doc_count');
}

async function listAt(database: string): Promise<readonly unknown[]> {
  return arrayAt(await ask('GET', `${database}/_all_docs`), 'rows');
}

function put(database: string): Promise<unknown> {
  return ask('PUT', database);
}

async function ask(method: string, url: string, body?: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const answer: unknown = await response.json();
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}
