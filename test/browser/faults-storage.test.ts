import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { call, type Way } from './controls.ts';
import type { Engine, LaunchOptions, Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';
import { openScene, type Scene, type Site } from './scene.ts';

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
  let scene: Scene;
  let site: Site;
  let tab: Tab;

  beforeAll(async () => {
    scene = await openScene(engine, launch[engine]);
  });
  afterAll(() => scene?.close());
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') console.info(scene.browser.messages.slice(-30).join('\n'));
    await site?.close();
  });

  async function openControl(): Promise<void> {
    site = await scene.openSite();
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
    if (engine === 'webkit') skip(String(scene.browser.can.limitStorage));
    await openControl();
    expect(await call(tab, 'request', 'settee', 'PUT', `${database}/small`, { n: 1 })).toMatchObject({ status: 201 });
    if (scene.browser.can.limitStorage === true) await scene.browser.limitStorage(site.server.origin, quotaBytes);
    const text = random(1_000_000).repeat(5);
    let answer = await call(tab, 'request', 'settee', 'PUT', `${database}/large-0`, { text });
    let written = 0;
    while (answer.status === 201 && written < 200) {
      written += 1;
      answer = await call(tab, 'request', 'settee', 'PUT', `${database}/large-${written}`, { text });
    }
    expect(answer).toMatchObject({ status: 507, json: { error: 'insufficient_storage' } });
    expect(await call(tab, 'request', 'settee', 'GET', `${database}/large-${written}`)).toMatchObject({ status: 404 });
    expect(await call(tab, 'request', 'settee', 'GET', `${database}/small`)).toMatchObject({
      status: 200,
      json: { n: 1 },
    });
    expect(await call(tab, 'ids', 'settee', database)).toHaveLength(written + 1);
    if (scene.browser.can.limitStorage !== true) return;
    await scene.browser.limitStorage(site.server.origin, undefined);
    expect(await call(tab, 'request', 'settee', 'PUT', `${database}/again`, {})).toMatchObject({ status: 201 });
  });
});

/** Text that no storage compresses. */
function random(length: number): string {
  return Array.from({ length: length / 10 }, () => Math.random().toString(36).slice(2, 12).padEnd(10, 'x')).join('');
}
