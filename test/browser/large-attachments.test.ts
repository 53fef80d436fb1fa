import { describe, expect, test } from 'vitest';
import { highestMemory, megabytes } from '../hostile/support/process-use.ts';
import { useBrowserSession } from './browser-session.ts';
import { call, type Way } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { seesProcesses } from './drivers/processes.ts';
import { chosenEngines } from './drivers/start.ts';

/** Attachments that are much larger than what any thread may hold of them: only the driver of Chromium tells which process a tab has. */
const PIECES = 300;
const SMALL_PIECES = 24;
/**
 * What the owner's process may take beyond what it had. By `fetch` the bytes go through the service worker, which is in the same process:
 * each of the two threads leaves some 64 MB of what it is done with before the browser collects that.
 */
const mostMore: Readonly<Record<Way, number>> = { settee: 64_000_000, fetch: 160_000_000 };

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

  test.each<Way>(['settee', 'fetch'])('by %s, in and out, in bounded memory', { timeout: 120_000 }, async (way) => {
    const { owner, other } = await openTabs();
    const process = await owner.process();
    const put = (id: string, pieces: number) =>
      other.evaluate(
        `send('${way}', '/db/films/${id}/film', { method: 'PUT', body: film.blob(${pieces}) }).then(({ status }) => status)`,
      );
    const get = (id: string) =>
      other.evaluate(`send('${way}', '/db/films/${id}/film').then(({ body }) => film.wrong(body))`);
    // What code, buffers and the storage itself take once.
    expect(await put('small', SMALL_PIECES)).toBe(201);
    expect(await get('small')).toEqual({ bytes: SMALL_PIECES * 2 ** 20, wrong: 0 });
    const written = await highestMemory(process, () => put('large', PIECES));
    expect(written.result).toBe(201);
    const read = await highestMemory(process, () => get('large'));
    expect(read.result).toEqual({ bytes: PIECES * 2 ** 20, wrong: 0 });
    const more = { in: written.highest - written.before, out: read.highest - read.before };
    console.info(
      `${way}: the owner took ${megabytes(more.in)} more for what came in, ${megabytes(more.out)} for what went out`,
    );
    expect(more.in).toBeLessThan(mostMore[way]);
    expect(more.out).toBeLessThan(mostMore[way]);
  });
});
