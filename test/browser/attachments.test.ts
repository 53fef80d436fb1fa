import { describe, expect, test } from 'vitest';
import { useBrowserSession } from './browser-session.ts';
import { call, type StartChoice, type Way } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/** What a page does with attachments by the web's own means, through the service worker. */
describe.each(chosenEngines())('attachments in %s', (engine) => {
  const session = useBrowserSession(engine);

  async function openTab(settings: StartChoice['settings'] = {}): Promise<Tab> {
    const site = await session.openSite();
    const tab = await site.open('control');
    await call(tab, 'start', { base: '/db/', settings });
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

  describe.each<Way>(['settee', 'fetch'])('by %s', (way) => {
    test('an upload that the page breaks off leaves nothing, or is there wholly', async () => {
      const tab = await openTab();
      const outcome = await tab.evaluate(`(async () => {
        const bytes = new Uint8Array(20_000_000).map((_, index) => (index * 31 + (index >> 8)) % 256);
        const found = [];
        for (const [number, delay] of [0, 20, 100].entries()) {
          const breaking = new AbortController();
          const path = '/db/photos/broken-' + number;
          const sent = send('${way}', path + '/large', { method: 'PUT', body: new Blob([bytes]), signal: breaking.signal });
          const outcome = sent.then((answer) => answer.status, (error) => error.name);
          await new Promise((resolve) => setTimeout(resolve, delay));
          breaking.abort();
          const said = await outcome;
          const document = await send('${way}', path);
          const stored = document.status === 200 ? (await document.json())._attachments.large.length : 0;
          const isTrue = said === 201 ? stored === bytes.length : stored === 0 || stored === bytes.length;
          if (!isTrue || (said !== 201 && said !== 'AbortError')) found.push([said, document.status, stored]);
        }
        const again = await send('${way}', '/db/photos/after/large', { method: 'PUT', body: new Blob([bytes]) });
        return [found, again.status, (await (await send('${way}', '/db/photos/after/large')).arrayBuffer()).byteLength];
      })()`);
      expect(outcome).toEqual([[], 201, 20_000_000]);
    });

    test('what is too large, or has another digest, is refused, and leaves nothing', async () => {
      const tab = await openTab({ svc: { max_attachment_chunk_size: '1000000' } });
      const refused = await tab.evaluate(`(async () => {
        const put = async (size, headers) => {
          const answer = await send('${way}', '/db/photos/one/a', { method: 'PUT', body: new Blob([new Uint8Array(size)]), headers });
          return [answer.status, (await answer.json()).error];
        };
        const refused = [await put(1_000_001, {}), await put(9_000_000, {}), await put(900_000, { 'content-md5': 'XUFAKrxLKna5cZ2REBfFkg==' })];
        const before = (await send('${way}', '/db/photos/one')).status;
        return [...refused, before, (await put(1_000_000, {}))[0]];
      })()`);
      expect(refused).toEqual([[413, 'too_large'], [413, 'too_large'], [400, 'content_md5_mismatch'], 404, 201]);
    });
  });
});
