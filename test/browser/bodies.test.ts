import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type BrowserSession, openBrowserSession } from './browser-session.ts';
import { call, type Way } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/** Many requests at once, and large bodies, both ways. */
const base = '/db/';
const megabyte = 1_000_000;
const ways: readonly Way[] = ['settee', 'fetch'];

/** Beyond what a request may have by default. */
const settings = { svc: { max_document_size: `${200 * megabyte}` } };

describe.each(chosenEngines())('bodies in %s', (engine) => {
  let session: BrowserSession;
  let tab: Tab;

  beforeAll(async () => {
    session = await openBrowserSession(engine);
    tab = await (await session.openSite()).open('control');
    await call(tab, 'start', { base, settings });
  });
  afterAll(() => session?.close());
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') console.info(session?.browser.messages.slice(-30).join('\n'));
  });

  describe.each(ways)('by %s', (way) => {
    test('a thousand simultaneous GETs are all answered', async () => {
      const database = `/db/gets_${way}`;
      await call(tab, 'request', way, 'PUT', database);
      const docs = Array.from({ length: 50 }, (_, number) => ({ _id: `at-once-${number}`, number }));
      expect((await call(tab, 'request', way, 'POST', `${database}/_bulk_docs`, { docs })).status).toBe(201);
      const { statuses, wrong, ms } = await call(tab, 'getsAtOnce', way, database, 1000);
      console.info(`${engine}, ${way}: 1,000 GETs in ${Math.round(ms)} ms`);
      expect(statuses).toEqual({ 200: 1000 });
      expect(wrong).toBe(0);
    });

    test('a thousand simultaneous PUTs of 100 KB are all answered', async () => {
      const database = `/db/puts_${way}`;
      await call(tab, 'request', way, 'PUT', database);
      const { statuses, wrong, ms } = await call(tab, 'putsAtOnce', way, database, 1000, 100_000);
      console.info(`${engine}, ${way}: 1,000 PUTs of 100 KB in ${Math.round(ms)} ms`);
      expect(statuses).toEqual({ 201: 1000 });
      expect(wrong).toBe(0);
      const info = await call(tab, 'request', way, 'GET', database);
      expect(info.json).toMatchObject({ doc_count: 1000 });
      await call(tab, 'request', way, 'DELETE', database);
    });

    test('a body of 100 MB is uploaded and downloaded without a change', async () => {
      const database = `/db/large_${way}`;
      await call(tab, 'request', way, 'PUT', database);
      expect(await call(tab, 'sendLarge', way, database, 100, megabyte)).toBe(201);
      const { bytes, end, error, ms } = await call(tab, 'readLarge', way, database);
      console.info(`${engine}, ${way}: read ${bytes} bytes in ${Math.round(ms)} ms`);
      expect(error).toBeUndefined();
      expect(bytes).toBeGreaterThan(100 * megabyte);
      expect(end).toMatch(/x"\}\}\r?\n\]\}\n$/);
      await call(tab, 'request', way, 'DELETE', database);
    });
  });
});
