import { describe, expect, test } from 'vitest';
import { highestMemory, megabytes } from '../hostile/support/process-use.ts';
import { beginBareRelay } from './bare-relay.ts';
import { useBrowserSession } from './browser-session.ts';
import { call, type Way } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { seesProcesses } from './drivers/processes.ts';
import { chosenEngines } from './drivers/start.ts';

/** Attachments that are much larger than what any thread may hold of them: only the driver of Chromium tells which process a tab has. */
const PIECES = 300;
const SMALL_PIECES = 24;
/**
 * What the process of the owner may take beyond what it had. By `fetch` the bytes go through the service worker, which is in the same
 * process, and where the browser keeps what both threads are done with for a while: there it is beyond what the bare relay takes.
 */
const MOST_MORE = 64_000_000;

/** A page's script: `film.blob` is made of slices of 1 MB, no two of them the same, and `film.wrong` counts bytes that are others. */
const FILM = `(() => {
  const size = 2 ** 20;
  const base = new Uint8Array(2 * size);
  for (let at = 0; at < base.length; at += 65_536) crypto.getRandomValues(base.subarray(at, at + 65_536));
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

describe.runIf(chosenEngines().includes('chromium') && seesProcesses === true)('300 MB in chromium', () => {
  const session = useBrowserSession('chromium');

  /** The tab whose worker owns the storage, and another one, so that what a page holds of its own does not count. */
  async function openTabs(): Promise<{ readonly owner: Tab; readonly other: Tab }> {
    const site = await session.openSite();
    const owner = await site.open('control');
    await call(owner, 'start', { base: '/db/' });
    const other = await site.open('control');
    await call(other, 'start', { base: '/db/' });
    expect(await call(owner, 'role')).toBe('owner');
    await call(other, 'request', 'fetch', 'PUT', '/db/films');
    await other.evaluate(FILM);
    return { owner, other };
  }

  interface Growth {
    readonly in: number;
    readonly out: number;
  }

  /** `put` and `get` are scripts of the page, for so many pieces; what code, buffers and the storage itself take once does not count. */
  async function measure(owner: Tab, other: Tab, put: Script, get: Script): Promise<Growth> {
    const process = await owner.process();
    expect(await other.evaluate(put('small', SMALL_PIECES))).toBe(201);
    expect(await other.evaluate(get('small', SMALL_PIECES))).toEqual(right(SMALL_PIECES));
    const written = await highestMemory(process, () => other.evaluate(put('large', PIECES)));
    expect(written.result).toBe(201);
    const read = await highestMemory(process, () => other.evaluate(get('large', PIECES)));
    expect(read.result).toEqual(right(PIECES));
    return { in: written.highest - written.before, out: read.highest - read.before };
  }

  async function measureBareRelay(): Promise<Growth> {
    const site = await session.openSite();
    const owner = await site.open('empty');
    await beginBareRelay(site, owner);
    const other = await site.open('empty');
    await other.evaluate(FILM);
    return measure(
      owner,
      other,
      (_id, pieces) => `fetch('/bare/in', { method: 'PUT', body: film.blob(${pieces}) }).then(({ status }) => status)`,
      (_id, pieces) =>
        `fetch('/bare/out?pieces=${pieces}').then(({ body }) => film.wrong(body)).then((read) => ({ ...read, wrong: 0 }))`,
    );
  }

  test.each<Way>(['settee', 'fetch'])('by %s, in and out, in bounded memory', { timeout: 120_000 }, async (way) => {
    const { owner, other } = await openTabs();
    const more = await measure(
      owner,
      other,
      (id, pieces) =>
        `send('${way}', '/db/films/${id}/film', { method: 'PUT', body: film.blob(${pieces}) }).then(({ status }) => status)`,
      (id) => `send('${way}', '/db/films/${id}/film').then(({ body }) => film.wrong(body))`,
    );
    const least = way === 'settee' ? { in: 0, out: 0 } : await measureBareRelay();
    const shown = ({ in: written, out }: Growth) =>
      `${megabytes(written)} for what came in, ${megabytes(out)} for what went out`;
    console.info(`${way}: the owner took ${shown(more)}; the bare relay ${shown(least)}`);
    // What the browser took for what came in it may still have for what goes out: the larger of both counts.
    expect(Math.max(more.in, more.out) - Math.max(least.in, least.out)).toBeLessThan(MOST_MORE);
  });
});

type Script = (id: string, pieces: number) => string;

function right(pieces: number) {
  return { bytes: pieces * 2 ** 20, wrong: 0 };
}
