import { describe, expect, test } from 'vitest';
import { at } from '../support/conformance/json.ts';
import { patient } from '../support/patience.ts';
import { useBrowserSession } from './browser-session.ts';
import { call } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/** PouchDB in a page of an app, live in both directions with Settee behind plain `fetch`, while another page works with Settee itself. */
const soon = { ...patient, interval: 50 };

describe.each(chosenEngines())('PouchDB in a page of %s', (engine) => {
  const session = useBrowserSession(engine);

  test('syncs with the service worker: documents, deletions, conflicts, attachments', async () => {
    const site = await session.openSite();
    const tab = await site.open('control');
    await call(tab, 'start', { base: '/db/' });
    await call(tab, 'request', 'settee', 'PUT', '/db/notes');
    const page = await site.open('pouchdb');
    await pouch(page, 'put', { _id: 'torn', by: 'PouchDB' });
    await call(tab, 'request', 'settee', 'PUT', '/db/notes/torn', { by: 'Settee' });
    await pouch(page, 'keepInSync');

    const read = async (path: string) => (await call(tab, 'request', 'settee', 'GET', `/db/notes/${path}`)).json;
    await expect.poll(() => read('torn?conflicts=true'), soon).toMatchObject({ _conflicts: [expect.any(String)] });
    await expect.poll(() => pouch(page, 'get', 'torn'), soon).toEqual(await read('torn?conflicts=true'));

    await pouch(page, 'put', { _id: 'a', n: 1 });
    await expect.poll(() => read('a'), soon).toMatchObject({ n: 1 });
    const { json } = await call(tab, 'request', 'settee', 'PUT', '/db/notes/b', { n: 2 });
    await expect.poll(() => pouch(page, 'get', 'b'), soon).toMatchObject({ n: 2 });
    await call(tab, 'request', 'settee', 'DELETE', `/db/notes/b?rev=${at(json, 'rev')}`);
    await expect.poll(() => pouch(page, 'get', 'b'), soon).toEqual({ error: 'not_found' });

    await pouch(page, 'attach', 'file', 'of-pouch.txt', 'bytes of PouchDB');
    await expect.poll(() => read('file/of-pouch.txt'), soon).toBe('bytes of PouchDB');
    const bytes = { content_type: 'text/plain', data: btoa('bytes of Settee') };
    await call(tab, 'request', 'settee', 'PUT', '/db/notes/other', { _attachments: { 'x.txt': bytes } });
    await expect.poll(() => pouch(page, 'get', 'other'), soon).toMatchObject({ _id: 'other' });
    expect(await pouch(page, 'attachment', 'other', 'x.txt')).toBe('bytes of Settee');
  });
});

function pouch(tab: Tab, name: string, ...parameters: readonly unknown[]): Promise<unknown> {
  return tab.evaluate(`pouch.${name}(...${JSON.stringify(parameters)})`);
}
