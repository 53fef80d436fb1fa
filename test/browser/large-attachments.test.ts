import { describe, expect, test } from 'vitest';
import { highestMemory, megabytes } from '../hostile/support/process-use.ts';
import { beginBareRelay } from './bare-relay.ts';
import { type Site, useBrowserSession } from './browser-session.ts';
import { call, type Way } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { seesProcesses } from './drivers/processes.ts';
import { chosenEngines } from './drivers/start.ts';

/** Attachments that are much larger than what any thread may hold of them: only the driver of Chromium tells which process a tab has. */
const PIECES = 300;
/** What is sent before anything is measured: what code and the storage take once does not count. */
const FIRST_PIECES = 1;
/**
 * What Chromium lets a thread have of memory that it no longer needs before it looks for it. The owner gets there in both directions: each page
 * that IndexedDB gives stays with the request that asked for it, and each that it takes is copied.
 */
const COLLECTED_AT = 64 * 2 ** 20;
const MAX_MORE = 16_000_000;

/** A page's script: `film.blob` is made of slices of 1 MB, no two of them the same, and `film.wrong` counts bytes that are others. */
const FILM = `(() => {
  const size = 2 ** 20;
  const base = new Uint8Array(2 * size);
  // The same in every tab (a generator of Marsaglia's, "Xorshift RNGs").
  const words = new Uint32Array(base.buffer);
  for (let at = 0, word = 2463534242; at < words.length; at += 1) {
    word ^= word << 13;
    word ^= word >>> 17;
    word ^= word << 5;
    words[at] = word;
  }
  const startOf = (piece) => (piece * 3001) % size;
  globalThis.film = {
    blob(pieces) {
      const whole = new Blob([base]);
      return new Blob(Array.from({ length: pieces }, (_, piece) => whole.slice(startOf(piece), startOf(piece) + size)));
    },
    async wrong(body) {
      let [at, wrong] = [0, 0];
      const reader = body.getReader();
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        for (let from = 0; from < next.value.length; ) {
          const part = next.value.subarray(from, from + size - (at % size));
          const start = startOf(Math.floor(at / size)) + (at % size);
          for (let index = 0; index < part.length; index++) if (part[index] !== base[start + index]) wrong += 1;
          from += part.length;
          at += part.length;
        }
      }
      return { bytes: at, wrong };
    },
  };
})()`;

describe.runIf(chosenEngines().includes('chromium') && seesProcesses === true)(
  'an attachment of 300 MB in chromium',
  () => {
    const session = useBrowserSession('chromium');

    /** A tab whose worker owns the storage, and another one, so that what a page holds of its own does not count. */
    async function openTabs(site: Site): Promise<Pair> {
      const owner = await site.open('control');
      await call(owner, 'start', { base: '/db/' });
      const other = await site.open('control');
      await call(other, 'start', { base: '/db/' });
      expect(await call(owner, 'role')).toBe('owner');
      await other.evaluate(FILM);
      return { owner, other };
    }

    async function openBareTabs(): Promise<Pair> {
      const site = await session.openSite();
      const owner = await site.open('empty');
      await beginBareRelay(site, owner);
      const other = await site.open('empty');
      await other.evaluate(FILM);
      return { owner, other };
    }

    /**
     * What all processes but that of the page that asks take beyond what they had: the owner's, and the service worker's, which may be the same.
     * Closes the tabs: what is left in a process of one direction must not hide what the other takes.
     */
    async function growth(
      { owner, other }: Pair,
      script: Script,
      result: (pieces: number) => unknown,
    ): Promise<number> {
      expect(await other.evaluate(script('small', FIRST_PIECES))).toEqual(result(FIRST_PIECES));
      const reader = await other.process();
      const processes = (await session.browser.processes()).filter((id) => id !== reader);
      const measured = await highestMemory(processes, () => other.evaluate(script('large', PIECES)));
      expect(measured.result).toEqual(result(PIECES));
      await owner.close();
      await other.close();
      return measured.highest - measured.before;
    }

    async function measureBareRelay(): Promise<Growth> {
      const put: Script = (_id, pieces) =>
        `fetch('/bare/in', { method: 'PUT', body: film.blob(${pieces}) }).then(({ status }) => status)`;
      const get: Script = (_id, pieces) =>
        `fetch('/bare/out?pieces=${pieces}').then(({ body }) => film.wrong(body)).then((read) => ({ ...read, wrong: 0 }))`;
      return {
        in: await growth(await openBareTabs(), put, created),
        out: await growth(await openBareTabs(), get, right),
      };
    }

    async function measure(way: Way): Promise<Growth> {
      const site = await session.openSite();
      const put: Script = (id, pieces) =>
        `send('${way}', '/db/films/${id}/film', { method: 'PUT', body: film.blob(${pieces}) }).then(({ status }) => status)`;
      const get: Script = (id) => `send('${way}', '/db/films/${id}/film').then(({ body }) => film.wrong(body))`;
      const writing = await openTabs(site);
      await call(writing.other, 'request', 'fetch', 'PUT', '/db/films');
      const written = await growth(writing, put, created);
      return { in: written, out: await growth(await openTabs(site), get, right) };
    }

    test.each<Way>(['settee', 'fetch'])('is uploaded and downloaded by %s in bounded memory', async (way) => {
      const more = await measure(way);
      // By `fetch` the bytes go through the service worker as well, and there is a least that this takes.
      const least = way === 'settee' ? { in: COLLECTED_AT, out: COLLECTED_AT } : await measureBareRelay();
      const shown = ({ in: written, out }: Growth) => `${megabytes(written)} in, ${megabytes(out)} out`;
      console.info(`${way}: ${shown(more)}; the least: ${shown(least)}`);
      expect.soft(more.in - least.in).toBeLessThan(MAX_MORE);
      expect.soft(more.out - least.out).toBeLessThan(MAX_MORE);
      // The service worker gives back what was read, which the bare relay does not.
      expect(more.out - COLLECTED_AT).toBeLessThan(MAX_MORE);
    });
  },
);

/** Gives a page's script for a document with that id and so many pieces. */
type Script = (id: string, pieces: number) => string;

interface Pair {
  readonly owner: Tab;
  readonly other: Tab;
}

/** Bytes, for what came in and for what went out. */
interface Growth {
  readonly in: number;
  readonly out: number;
}

const created = () => 201;
const right = (pieces: number) => ({ bytes: pieces * 2 ** 20, wrong: 0 });
