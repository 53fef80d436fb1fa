/**
 * A process that owns the file "a" of a storage, or follows it: `following-process.js owner|follower URL SEED`. Built by `buildFollowingProcess`.
 *
 * The owner counts: each record of the journal is the next number, and the head is the last number before the journal and its page, which holds that
 * number. It writes `wrote NUMBER` when a commit was acknowledged. The follower does what each line of its input says, and answers with one line.
 */
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { isDatabaseError } from '../../../src/base/errors/database-error.ts';
import { must } from '../../../src/base/shared/assert.ts';
import {
  type FollowedPoint,
  type FollowedState,
  PAGES_PER_EPOCH,
  type PageFile,
} from '../../../src/storage/page-store.ts';
import { ConnectionPool } from '../../../src/storage/postgres/connection-pool.ts';
import { DurableHistory } from '../../../src/storage/postgres/durable-history.ts';
import { createPostgresPageStore } from '../../../src/storage/postgres/postgres-page-store.ts';
import { readStorageUrl } from '../../../src/storage/postgres/storage-url.ts';
import { SeededRandom } from '../seeded-random.ts';
import { type CountedState, countedOf } from './counted-state.ts';

const LEASE_MS = 3000;

const [role, url = '', seed] = process.argv.slice(2);
const pool = await ConnectionPool.open(await readStorageUrl(url, {}));
const store = createPostgresPageStore(pool, new DurableHistory(), { followerLeaseMs: LEASE_MS });
await (role === 'owner' ? own(new SeededRandom(Number(seed))) : follow());

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Writes until the process is killed. */
async function own(random: SeededRandom): Promise<never> {
  const file = await store.open('a', 'create').catch((error: unknown) => {
    if (isDatabaseError(error, 'storage_exists')) return store.open('a', 'open');
    throw error;
  });
  const { epoch, head, journal, nextJournal } = file.opening;
  const state = countedOf(head, journal);
  let [{ last, page }, record, nextPage] = [state, nextJournal, epoch * PAGES_PER_EPOCH];
  for (;;) {
    const durability = random.chance(20) ? 'strict' : 'relaxed';
    if (random.chance(80)) {
      await file.commit({ durability, journal: { number: record, text: `${last + 1}` } });
      record += 1;
      last += 1;
    } else {
      const old = page;
      page = nextPage;
      nextPage += 1;
      const writePages = [{ number: page, value: `page ${last}` }];
      await file.commit({ durability, writePages, head: `${last} ${page}`, truncateJournal: record });
      void dropLater(file, old, random.between(0, 20));
    }
    say(`wrote ${last}`);
    if (random.chance(10)) await delay(random.between(0, 10));
  }
}

async function dropLater(file: PageFile, page: number | undefined, ms: number): Promise<void> {
  if (page === undefined) return;
  await file.whenFollowersPass?.();
  await delay(ms);
  await file.commit({ durability: 'relaxed', dropPages: [page] });
}

async function follow(): Promise<void> {
  const followed = must(await store.follow?.('a'));
  let [point, state, held]: [FollowedPoint | undefined, CountedState, FollowedState | undefined] = [
    undefined,
    countedOf(undefined, []),
    undefined,
  ];
  say('ready');
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'read') say(`page: ${await followed.read(must(state.page), 'text')}`);
    if (line !== 'poll') continue;
    const next = await followed.poll(point);
    if (next !== undefined) {
      held?.release();
      held = next;
      state = countedOf(next.point.head, next.records, next.continues ? state : undefined);
      point = next.point;
    }
    say(`${next?.continues} ${state.last}`);
  }
}
