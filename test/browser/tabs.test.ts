import { describe, expect, test } from 'vitest';
import { must } from '../../src/base/shared/assert.ts';
import { roundsOf } from '../support/long-runs.ts';
import { type Site, useBrowserSession } from './browser-session.ts';
import { call, type Way } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/** Several tabs of one origin work on one database. */
const base = '/db/';
const database = '/db/notes';

/** What each of many tabs writes at the same time as all others. */
const perTab = roundsOf(300, 1_000);

describe.each(chosenEngines())('tabs of %s', (engine) => {
  const session = useBrowserSession(engine);
  let site: Site;

  async function openTabs(count: number): Promise<Tab[]> {
    site = await session.openSite();
    const tabs: Tab[] = [];
    for (let number = 0; number < count; number += 1) {
      const tab = await site.open('control');
      await call(tab, 'start', { base });
      tabs.push(tab);
    }
    expect((await call(must(tabs[0]), 'request', 'settee', 'PUT', database)).status).toBe(201);
    return tabs;
  }

  test.each<[Way, Way]>([
    ['settee', 'settee'],
    ['fetch', 'fetch'],
    ['settee', 'fetch'],
  ])('that write the same document, by %s and by %s, cause exactly one conflict', async (first, second) => {
    const [one, other] = await openTabs(2);
    for (let number = 0; number < 20; number += 1) {
      const answers = await Promise.all([
        call(must(one), 'request', first, 'PUT', `${database}/doc-${number}`, { by: 'one' }),
        call(must(other), 'request', second, 'PUT', `${database}/doc-${number}`, { by: 'other' }),
      ]);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409]);
    }
  });

  test('of which eight write a thousand documents each store every document once', async () => {
    const tabs = await openTabs(8);
    const began = performance.now();
    const acknowledged = await Promise.all(
      tabs.map((tab, number) =>
        call(tab, 'writeMany', number % 2 === 0 ? 'settee' : 'fetch', database, `tab${number}`, perTab, 10),
      ),
    );
    console.info(`${engine}: 8 × ${perTab} documents in ${Math.round(performance.now() - began)} ms`);
    expect(acknowledged).toEqual(tabs.map(() => perTab));
    const expected = tabs.flatMap((_, tab) =>
      Array.from({ length: perTab }, (_each, number) => `tab${tab}-${`${number}`.padStart(5, '0')}`),
    );
    expect(await call(must(tabs[7]), 'ids', 'fetch', database)).toEqual(expected);
    expect(await call(must(tabs[0]), 'ids', 'settee', database)).toEqual(expected);
  });
});
