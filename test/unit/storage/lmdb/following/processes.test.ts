/** Processes on one LMDB file: one owns it and is killed, others follow. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'vite';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { must } from '../../../../../src/base/shared/assert.ts';
import type { PageFile } from '../../../../../src/storage/page-store.ts';
import { relaxed } from '../../../../conformance/storage/expectations.ts';
import { roundsOf } from '../../../../support/long-runs.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';
import { createStore, folder, useStoreFolder } from '../stores.ts';
import { SeenHistory } from './history.ts';

const TIMEOUT_MS = 240_000;
/** The states that the follower holds at a time. */
const HELD = 8;

let built = '';
const children: ChildProcess[] = [];

useStoreFolder();

beforeAll(async () => {
  built = await mkdtemp(join(tmpdir(), 'settee-following-'));
  await symlink(join(import.meta.dirname, '../../../../../node_modules'), join(built, 'node_modules'));
  const entries = ['history-program', 'holding-program'].map((name) => join(import.meta.dirname, `${name}.ts`));
  const rollupOptions = { input: entries };
  await build({
    configFile: false,
    logLevel: 'silent',
    build: { ssr: true, rollupOptions, outDir: join(built, 'programs') },
  });
});

afterEach(async () => {
  for (const child of children.splice(0)) await kill(child);
});

afterAll(() => rm(built, { recursive: true }));

async function start(program: string, ...options: readonly string[]): Promise<ChildProcess> {
  const programs = join(built, 'programs');
  const name = must((await readdir(programs)).find((each) => each.startsWith(program)));
  const child = fork(join(programs, name), [folder, ...options], { execArgv: [] });
  children.push(child);
  return child;
}

async function messageOf(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the process ended with ${code}`)));
  const [message] = await Promise.race([once(child, 'message'), ended]);
  return message;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

test(
  'a follower sees a prefix of the history, with all that was acknowledged, while owners are killed',
  async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = new SeededRandom(seed);
    const owners = roundsOf(3, 40);
    let acknowledged = 0;
    const store = createStore();
    const follow = () => must(store.follow?.('file'));
    let seen: SeenHistory | undefined;
    const held: (() => Promise<void>)[] = [];
    const endHolds = async () => {
      for (const check of held.splice(0)) await check();
    };
    try {
      for (let owner = 1; owner <= owners; owner++) {
        const child = await start('history-program', String(random.between(0, 2 ** 31)));
        child.on('message', (number) => {
          acknowledged = Number(number);
        });
        await messageOf(child);
        seen ??= new SeenHistory(await follow());
        const until = acknowledged + random.between(300, 1500);
        while (acknowledged < until && child.exitCode === null) {
          held.push(await seen.poll(acknowledged));
          while (held.length > random.between(0, HELD)) await held.splice(random.between(0, held.length - 1), 1)[0]?.();
          if (random.chance(2)) {
            await endHolds();
            await seen.reopen(follow);
          }
          await new Promise((resolve) => setImmediate(resolve));
        }
        expect(child.exitCode).toBe(null);
        await kill(child);
        // While no one owns it.
        held.push(await seen.poll(acknowledged));
        expect(seen.epoch).toBe(owner);
      }
      await endHolds();
      expect(must(seen).states).toBeGreaterThan(20 * owners);
    } catch (error) {
      throw new Error(`with the seed ${seed}`, { cause: error });
    }
  },
  TIMEOUT_MS,
);

const PAGES = 200;

/** Replaces all pages; LMDB can use the space of those before the former ones, unless a transaction can read them. */
async function replacePages(file: PageFile, round: number): Promise<void> {
  const at = (each: number): number[] => Array.from({ length: PAGES }, (_unused, index) => each * PAGES + index);
  const writePages = at(round).map((number) => ({ number, value: 'x'.repeat(3000) }));
  await file.commit(relaxed({ writePages, dropPages: at(round - 1), head: `head ${round}` }));
}

test(
  'a follower that is killed keeps no space from use once another process has opened the file',
  async () => {
    const file = await createStore().open('file', 'create');
    let round = 1;
    for (; round < 8; round++) await replacePages(file, round);
    const child = await start('holding-program');
    expect(await messageOf(child)).toBe('head 7');
    const before = await file.size();
    for (; round < 20; round++) await replacePages(file, round);
    const held = await file.size();
    expect(held - before, 'while a state is held').toBeGreaterThan(8 * PAGES * 3000);
    await kill(child);
    const other = await start('holding-program', 'releases');
    expect(await messageOf(other)).toBe('head 19');
    for (; round < 60; round++) await replacePages(file, round);
    expect((await file.size()) - held, 'when the follower is gone').toBeLessThan(4 * PAGES * 4096);
  },
  TIMEOUT_MS,
);
