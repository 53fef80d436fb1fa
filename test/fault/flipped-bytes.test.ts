import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, assert, beforeAll, describe, expect, test } from 'vitest';
import { isDatabaseError } from '../../src/base/errors/database-error.ts';
import { systemClock, systemRandom } from '../../src/base/shared/clock.ts';
import type { PlainResponse } from '../../src/base/shared/message.ts';
import { silentLog } from '../../src/base/system/log.ts';
import { type Core, createCore } from '../../src/core/core.ts';
import { deferredAtHand } from '../../src/core/deferred/deferred-code.ts';
import { openRegistry } from '../../src/database/registry/registry.ts';
import { verifyIndexes } from '../../src/queries/views/verify-indexes.ts';
import { createLmdbPageStore } from '../../src/storage/lmdb/lmdb-page-store.ts';
import { createMemoryPageStore, MemoryMedium } from '../../src/storage/memory-page-store.ts';
import type { PageFile, PageStore } from '../../src/storage/page-store.ts';
import { copyFolder, filesIn, flipByte } from '../hostile/support/flips.ts';
import { parseJson } from '../support/conformance/json.ts';
import { answersOf, type Client, fill, type KnownQuestion } from '../support/known-database.ts';
import { roundsOf } from '../support/long-runs.ts';
import { flipValue } from '../support/medium-flips.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { createTestSandbox } from '../unit/queries/sandbox/quickjs-files.ts';

/**
 * A random byte of what a store keeps is changed, and then each answer is right or an error, and a change that made an answer an error is
 * found by a verification. `test/hostile/flipped-bytes` does the same with the files of a server, thousands of times.
 *
 * SETTEE_FLIPS says how many bytes a test changes, SETTEE_FLIPS_SEED repeats a run's choices.
 */
const FLIPS = Number(process.env['SETTEE_FLIPS'] ?? roundsOf(12, 30));
const FIXED_SEED = 20_261_123;
const seed = Number(process.env['SETTEE_FLIPS_SEED'] ?? Date.now() % 2 ** 31);

/** As IndexedDB reads: a promise for each page. */
function asynchronous(store: PageStore): PageStore {
  const later = (file: PageFile): PageFile => {
    const read = file.read.bind(file) as (page: number, kind: 'text') => string | undefined;
    file.read = (async (page: number, kind: 'text') => read(page, kind)) as unknown as PageFile['read'];
    return file;
  };
  return {
    supports: { ...store.supports, leafBytes: 16_384, bodyPageBytes: 65_536 },
    list: () => store.list(),
    open: async (file, mode) => later(await store.open(file, mode)),
    destroy: (file) => store.destroy(file),
    close: () => store.close(),
  };
}

/** What keeps the bytes of a store. */
interface Medium {
  open(): PageStore;
  clone(): Promise<Medium>;
  /** Changes something, and says what. */
  flip(random: SeededRandom): Promise<string>;
}

class KeptInMemory implements Medium {
  readonly #medium: MemoryMedium;
  readonly #wrap: (store: PageStore) => PageStore;

  constructor(wrap: (store: PageStore) => PageStore, medium = new MemoryMedium()) {
    this.#medium = medium;
    this.#wrap = wrap;
  }

  open(): PageStore {
    return this.#wrap(createMemoryPageStore({ medium: this.#medium }));
  }

  async clone(): Promise<Medium> {
    return new KeptInMemory(this.#wrap, this.#medium.clone());
  }

  async flip(random: SeededRandom): Promise<string> {
    return flipValue(random, this.#medium);
  }
}

/** The store looks at the whole structure first, so that LMDB does not end this process. */
class KeptByLmdb implements Medium {
  readonly #folder: string;

  constructor(folder = mkdtempSync(join(tmpdir(), 'settee-flips-'))) {
    this.#folder = folder;
    folders.push(folder);
  }

  open(): PageStore {
    return createLmdbPageStore(this.#folder, { checksWholly: true });
  }

  async clone(): Promise<Medium> {
    const copy = new KeptByLmdb();
    await copyFolder(this.#folder, copy.#folder);
    return copy;
  }

  async flip(random: SeededRandom): Promise<string> {
    const { file, position, mask } = await flipByte(random, this.#folder, filesIn(this.#folder));
    return `byte ${position} of ${file}, by ${mask}`;
  }
}

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const backends: Readonly<Record<string, () => Medium>> = {
  'in memory': () => new KeptInMemory((store) => store),
  'that reads as IndexedDB does': () => new KeptInMemory(asynchronous),
  'on LMDB': () => new KeptByLmdb(),
};

class CoreClient implements Client {
  readonly #core: Core;

  constructor(core: Core) {
    this.#core = core;
  }

  async ask(method: string, path: string, { headers = {}, json }: KnownQuestion = {}) {
    const [body, type] =
      json === undefined ? [null, {}] : [JSON.stringify(json), { 'content-type': 'application/json' }];
    const request = {
      method,
      url: path,
      headers: { host: 'x', accept: 'application/json', ...type, ...headers },
      body,
    };
    const answer = await this.#core.handle(request);
    const text = await textOf(answer);
    return { status: answer.status, text, json: parseJson(text) };
  }

  async must(status: number, method: string, path: string, question?: KnownQuestion) {
    const answer = await this.ask(method, path, question);
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text.slice(0, 300)}`);
    return answer;
  }
}

async function textOf({ body }: PlainResponse): Promise<string> {
  if (body === null || typeof body === 'string') return body ?? '';
  const decoder = new TextDecoder();
  if (body instanceof Uint8Array) return decoder.decode(body);
  let text = '';
  for (let chunk = await body.pull(); chunk !== undefined; chunk = await body.pull()) {
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function openCore(storage: PageStore): Promise<Core> {
  const deferred = deferredAtHand(createTestSandbox());
  return createCore({ storage, clock: systemClock, random: systemRandom, deferred });
}

/** All that a core on the medium answers. A core that does not start answers nothing but errors. */
async function answersOn(storage: PageStore): Promise<ReadonlyMap<string, string> | 'no start'> {
  let core: Core;
  try {
    core = await openCore(storage);
  } catch (error) {
    expect(isDatabaseError(error), `${error}`).toBe(true);
    return 'no start';
  }
  const answers = await answersOf(new CoreClient(core), 'db');
  await core.close().catch(() => undefined);
  return answers;
}

/** Whether `settee verify` would find damage. */
async function isFound(store: PageStore): Promise<boolean> {
  try {
    const config = { get: () => undefined };
    const parts = { store, clock: systemClock, random: systemRandom, config, log: silentLog };
    const registry = await openRegistry(parts);
    const list = await registry.verifyList();
    const found = await registry.use('db', async (database) => {
      const { damage } = await database.verify();
      return [...damage, ...(await verifyIndexes(store, database, { repair: false })).damage];
    });
    await registry.close().catch(() => undefined);
    return [...list.damage, ...found].length > 0;
  } catch (error) {
    expect(isDatabaseError(error), `${error}`).toBe(true);
    return true;
  }
}

describe.each(Object.entries(backends))('a store %s', (name, newMedium) => {
  let media: readonly Medium[];
  let expected: ReadonlyMap<string, string>;

  beforeAll(async () => {
    const medium = newMedium();
    const core = await openCore(medium.open());
    await fill(new CoreClient(core), 'db');
    const killed = await medium.clone();
    await core.close();
    media = [medium, killed];
    const answers = await Promise.all(media.map(async (each) => answersOn((await each.clone()).open())));
    expect(answers[0]).toEqual(answers[1]);
    if (answers[0] === undefined || answers[0] === 'no start') return assert.fail('no answers');
    expected = answers[0];
    expect([...expected.values()]).not.toContain('error');
  });

  // LMDB has no checksums, and may end this process where a byte is hit that nobody looks at before: no run is to fail by chance.
  const isChancy = name === 'on LMDB' && process.env['SETTEE_FLIPS_SEED'] === undefined;
  test.each(isChancy ? [FIXED_SEED] : [FIXED_SEED, seed])(
    `returns no wrong answer after ${FLIPS} flipped bytes, and verify finds those that change one: seed %i`,
    async (used) => {
      const random = new SeededRandom(used);
      for (let count = 0; count < FLIPS; count++) {
        const damaged = await (media[count % 2] ?? assert.fail()).clone();
        const flip = await damaged.flip(random);
        const copy = await damaged.clone();
        const answers = await answersOn(damaged.open());
        if (answers !== 'no start') {
          const wrong = [...answers].filter(
            ([question, answer]) => answer !== 'error' && answer !== expected.get(question),
          );
          expect(wrong, `seed ${used}, ${flip}`).toEqual([]);
          if (![...answers.values()].includes('error')) continue;
        }
        expect(await isFound(copy.open()), `seed ${used}: a verification finds ${flip}`).toBe(true);
      }
    },
    60_000 + FLIPS * 1_000,
  );
});
