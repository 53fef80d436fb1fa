import { describe, expect, test } from 'vitest';
import { useBrowserSession } from './browser-session.ts';
import { call } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/** What a page does with attachments by the web's own means, through the service worker. */
describe.each(chosenEngines())('attachments in %s', (engine) => {
  const session = useBrowserSession(engine);

  async function openTab(): Promise<Tab> {
    const site = await session.openSite();
    const tab = await site.open('control');
    await call(tab, 'start', { base: '/db/' });
    await call(tab, 'request', 'fetch', 'PUT', '/db/photos');
    return tab;
  }

  test('a picture is stored as a Blob, and shown by an element', async () => {
    const tab = await openTab();
    const shown = await tab.evaluate(`(async () => {
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [7, 3];
      canvas.getContext('2d').fillRect(0, 0, 7, 3);
      const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
      const put = await fetch('/db/photos/one/dot.png', { method: 'PUT', body: blob });
      const image = new Image();
      await new Promise((resolve, reject) => {
        image.onload = resolve;
        image.onerror = () => reject(new Error('the picture was not shown'));
        image.src = '/db/photos/one/dot.png';
      });
      return [put.status, image.naturalWidth, image.naturalHeight];
    })()`);
    expect(shown).toEqual([201, 7, 3]);
  });

  test('files of a form are stored', async () => {
    const tab = await openTab();
    const stored = await tab.evaluate(`(async () => {
      const form = new FormData();
      form.append('_attachments', new File(['hello'], 'a b.txt', { type: 'x/y' }));
      form.append('_doc', '{"n":1}');
      const posted = await fetch('/db/photos/two', { method: 'POST', body: form });
      const read = await fetch('/db/photos/two/a%20b.txt');
      const { n } = await (await fetch('/db/photos/two')).json();
      return [posted.status, read.headers.get('content-type'), await read.text(), n];
    })()`);
    expect(stored).toEqual([201, 'x/y', 'hello', 1]);
  });

  test('a part of a large one is read, and a large one comes back whole', async () => {
    const tab = await openTab();
    const parts = await tab.evaluate(`(async () => {
      const bytes = new Uint8Array(5_000_000).map((_, index) => (index * 31 + (index >> 8)) % 256);
      await fetch('/db/photos/three/large', { method: 'PUT', body: new Blob([bytes], { type: 'x/y' }) });
      const part = await fetch('/db/photos/three/large', { headers: { range: 'bytes=4000000-4000009' } });
      const expected = [...bytes.slice(4_000_000, 4_000_010)];
      const found = [...new Uint8Array(await part.arrayBuffer())];
      const whole = new Uint8Array(await (await fetch('/db/photos/three/large')).arrayBuffer());
      const isWhole = whole.length === bytes.length && whole.every((byte, index) => byte === bytes[index]);
      return [part.status, part.headers.get('content-range'), JSON.stringify(found) === JSON.stringify(expected), isWhole];
    })()`);
    expect(parts).toEqual([206, 'bytes 4000000-4000009/5000000', true, true]);
  });
});
