import { describe, expect, test } from 'vitest';
import { patient } from '../support/patience.ts';
import { type Site, useBrowserSession } from './browser-session.ts';
import { call } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/** Records that come alone go to files beside IndexedDB, in browsers where several may have such a file open: that is Chromium. */
const base = '/db/';
const database = '/db/notes';
const FILE = '/settee-journal.js';
const WRITES = 100;

/** Bytes of all segments; looked at from the page, as anybody may. */
const segmentBytes = `(async () => {
  const walk = async (folder) => {
    let bytes = 0;
    for await (const entry of folder.values()) {
      bytes += entry.kind === 'file' ? (await entry.getFile()).size : await walk(entry);
    }
    return bytes;
  };
  const root = await navigator.storage.getDirectory();
  return walk(await root.getDirectoryHandle('settee-journals'));
})().catch(({ name }) => name)`;

describe.each(chosenEngines())('journal files in %s', (engine) => {
  const session = useBrowserSession(engine);
  const hasFiles = engine === 'chromium';
  let site: Site;
  let tab: Tab;

  async function openControl(): Promise<void> {
    tab = await site.open('control');
    await call(tab, 'start', { base });
  }

  async function begin(answer?: { readonly status: number; readonly text: string }): Promise<void> {
    site = await session.openSite();
    site.server.intercept((request, response) => {
      if (answer === undefined || request.url?.startsWith(FILE) !== true) return false;
      response.writeHead(answer.status, { 'content-type': 'text/javascript' }).end(answer.text);
      return true;
    });
    await openControl();
    expect(await call(tab, 'request', 'settee', 'PUT', database)).toMatchObject({ status: 201 });
    expect(await call(tab, 'writeMany', 'settee', database, 'doc-', WRITES, 1)).toBe(WRITES);
  }

  /** As `begin`, and writes on until something is in a segment; gives how many documents that took. On a slow machine it is begun late. */
  async function beginSegment(): Promise<number> {
    await begin();
    for (let round = 1; ; round += 1) {
      if (Number(await tab.evaluate(segmentBytes)) > 1_000) return round * WRITES;
      expect(round).toBeLessThan(8);
      expect(await call(tab, 'writeMany', 'settee', database, `round-${round}-`, WRITES, 1)).toBe(WRITES);
    }
  }

  test.runIf(hasFiles)('hold what was written, and the next tab reads them after their tab is closed', async () => {
    const written = await beginSegment();
    await tab.close();
    await openControl();
    expect(await call(tab, 'ids', 'settee', database)).toHaveLength(written);
    expect(await call(tab, 'writeMany', 'settee', database, 'more-', WRITES, 1)).toBe(WRITES);
    await tab.reload();
    await call(tab, 'start', { base });
    expect(await call(tab, 'ids', 'settee', database)).toHaveLength(written + WRITES);
  });

  test.runIf(hasFiles)(
    'are read by the service worker when no page is open, and by the next page after that',
    async () => {
      const written = await beginSegment();
      await tab.close();
      const shown = await session.browser.open(`${site.server.origin}${database}/_all_docs?limit=1`);
      expect(await shown.evaluate('document.body.innerText')).toContain(`"total_rows":${written}`);
      await shown.close();
      await openControl();
      expect(await call(tab, 'ids', 'fetch', database)).toHaveLength(written);
    },
  );

  test.runIf(hasFiles)('are removed when the service is closed properly', async () => {
    await beginSegment();
    await call(tab, 'close');
    expect(await tab.evaluate(segmentBytes)).toBe(0);
  });

  test.runIf(hasFiles)('are deleted with their database', async () => {
    await beginSegment();
    expect(await call(tab, 'request', 'settee', 'DELETE', database)).toMatchObject({ status: 200 });
    await expect.poll(() => tab.evaluate(segmentBytes), patient).toBe(0);
  });

  test.for([
    ['is missing', { status: 404, text: 'gone' }],
    ['is of another build', { status: 200, text: 'throw new TypeError("another build");' }],
  ] as const)('where the script that writes them %s, everything is written without them', async ([, answer]) => {
    await begin(answer);
    expect(site.server.seen.some((path) => path.startsWith(FILE))).toBe(hasFiles);
    if (hasFiles) expect(await tab.evaluate(segmentBytes)).toBe('NotFoundError');
    await tab.reload();
    await call(tab, 'start', { base });
    expect(await call(tab, 'ids', 'settee', database)).toHaveLength(WRITES);
  });
});
