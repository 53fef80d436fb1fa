import { describe, expect, test } from 'vitest';
import { collectOutcome, type Site, useBrowserSession } from './browser-session.ts';
import { call, type Way } from './controls.ts';
import type { Engine, LaunchOptions, Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/** The storage fails underneath a service that runs. */
const base = '/db/';
const database = '/db/notes';
const ways: readonly Way[] = ['settee', 'fetch'];

/** Firefox takes the bound at its start, in KB, for all of its storage; an origin may use all of it that is left. */
const quotaBytes = 20_000_000;
const launch: Readonly<Record<Engine, LaunchOptions>> = {
  chromium: {},
  firefox: { preferences: { 'dom.quotaManager.temporaryStorage.fixedLimit': quotaBytes / 1000 } },
  webkit: {},
};

describe.each(chosenEngines())('the storage in %s', (engine) => {
  const session = useBrowserSession(engine, launch[engine]);
  let site: Site;
  let tab: Tab;

  async function openControl(bound?: number): Promise<void> {
    site = await session.openSite();
    // Before the first access: Chromium looks at the bound no more than every 30 s.
    if (bound !== undefined) await session.browser.limitStorage(site.server.origin, bound);
    tab = await site.open('control');
    await call(tab, 'start', { base });
    expect((await call(tab, 'request', 'settee', 'PUT', database)).status).toBe(201);
  }

  async function serverUuid(way: Way): Promise<unknown> {
    const { status, json } = await call(tab, 'request', way, 'GET', base);
    expect(status).toBe(200);
    return json instanceof Object ? Reflect.get(json, 'uuid') : undefined;
  }

  test.each(ways)('deleted underneath: asked by %s, an empty service with another uuid answers', async (way) => {
    await openControl();
    await call(tab, 'request', way, 'PUT', `${database}/doc`, {});
    const before = await serverUuid(way);
    expect(await call(tab, 'deleteStorage')).toBeGreaterThan(0);
    expect(await call(tab, 'request', way, 'GET', `${database}/doc`)).toMatchObject({ status: 404 });
    expect(await serverUuid(way)).not.toBe(before);
    expect(await call(tab, 'request', way, 'PUT', database)).toMatchObject({ status: 201 });
    expect(await call(tab, 'request', way, 'PUT', `${database}/doc`, {})).toMatchObject({ status: 201 });
  });

  test('full: 507, nothing half-written, and it reads on', { timeout: 120_000 }, async ({ skip }) => {
    if (engine === 'webkit') skip(String(session.browser.can.limitStorage));
    await openControl(session.browser.can.limitStorage === true ? quotaBytes : undefined);
    expect(await call(tab, 'request', 'settee', 'PUT', `${database}/small`, { n: 1 })).toMatchObject({ status: 201 });
    const { written, refusal } = await call(tab, 'fill', 'settee', database, 5_000_000);
    expect(refusal).toMatchObject({ status: 507, json: { error: 'insufficient_storage' } });
    expect(await call(tab, 'request', 'settee', 'GET', `${database}/large-${written}`)).toMatchObject({ status: 404 });
    expect(await call(tab, 'request', 'settee', 'GET', `${database}/small`)).toMatchObject({
      status: 200,
      json: { n: 1 },
    });
    expect(await call(tab, 'ids', 'settee', database)).toHaveLength(written + 1);
    // There is room for less.
    expect(await call(tab, 'request', 'settee', 'PUT', `${database}/again`, {})).toMatchObject({ status: 201 });
  });

  test('full in the middle of an upload: 507, and nothing of it is stored', { timeout: 120_000 }, async ({ skip }) => {
    if (engine !== 'chromium')
      skip('the bound of the others is that of all storage, which the test before has used up');
    await openControl(quotaBytes);
    const upload = (way: Way, id: string, pieces: number) =>
      tab.evaluate(`(async () => {
        const piece = crypto.getRandomValues(new Uint8Array(65_536));
        const body = new Blob(Array.from({ length: ${pieces} }, (_, number) => piece.with(0, number % 256).with(1, number >> 8)));
        const answer = await send('${way}', '${database}/${id}/a', { method: 'PUT', body });
        return [answer.status, (await answer.json()).error ?? null];
      })()`);
    await call(tab, 'request', 'settee', 'PUT', `${database}/small`, { n: 1 });
    for (const way of ways) {
      expect(await upload(way, `large-${way}`, 512)).toEqual([507, 'insufficient_storage']);
      expect(await call(tab, 'request', way, 'GET', `${database}/large-${way}`)).toMatchObject({ status: 404 });
      expect(await call(tab, 'request', way, 'GET', `${database}/small`)).toMatchObject({
        status: 200,
        json: { n: 1 },
      });
    }
    await session.browser.limitStorage(site.server.origin, 10 * quotaBytes);
    // Chromium looks at the bound again within 30 s.
    const later = () => upload('fetch', 'later', 512);
    await expect.poll(later, { timeout: 60_000, interval: 500 }).toEqual([201, null]);
    expect(await call(tab, 'ids', 'settee', database)).toEqual(['later', 'small']);
  });

  test('full, as far as a wrapper around it says: 507, nothing half-written, and it reads on', async () => {
    site = await session.openSite();
    const outcome = await collectOutcome(await site.open('worker-suite', { worker: 'full-storage' }), session.browser);
    expect(outcome.failed).toEqual([]);
    expect(outcome.passed).toEqual([
      'full: 507, nothing half-written, and it reads on',
      'full in an upload: 507, and nothing of it is stored',
    ]);
  });
});
