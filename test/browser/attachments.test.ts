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

  test('a picture is stored as a Blob, and an <img> element shows it', async () => {
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

  test('the typed helper writes a document together with its Blobs', async () => {
    const tab = await openTab();
    const stored = await tab.evaluate(`(async () => {
      const { database } = await import('/settee-database.js');
      const photos = database(fetch, '/db/photos');
      const bytes = new Uint8Array(300_000).map((_, index) => (index * 31 + (index >> 8)) % 256);
      const written = await photos.put({
        _id: 'helper',
        _attachments: {
          large: { data: new File([bytes], 'large') },
          'a.txt': { data: new Blob(['text'], { type: 'text/plain' }) },
        },
      });
      const large = new Uint8Array(await (await fetch('/db/photos/helper/large')).arrayBuffer());
      const text = await fetch('/db/photos/helper/a.txt');
      const isSame = large.length === bytes.length && large.every((byte, at) => byte === bytes[at]);
      return [written.rev.slice(0, 2), isSame, text.headers.get('content-type'), await text.text()];
    })()`);
    expect(stored).toEqual(['1-', true, 'text/plain', 'text']);
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

  test('a range of a large attachment is read, and the whole attachment comes back unchanged', async () => {
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

  test.each(['plain', 'compressed'])(
    'a long recording, stored %s, plays from any position, and no more of it is read than playing needs',
    async (form) => {
      const tab = await openTab();
      const played = await tab.evaluate(`(async () => {
      // 15 minutes of silence: RIFF WAVE, PCM, one channel, 8,000 samples of 8 bits in a second.
      const [rate, seconds] = [8_000, 900];
      const bytes = new Uint8Array(44 + rate * seconds).fill(128);
      const view = new DataView(bytes.buffer);
      const name = (at, text) => new TextEncoder().encodeInto(text, bytes.subarray(at));
      for (const [at, text] of [[0, 'RIFF'], [8, 'WAVEfmt '], [36, 'data']]) name(at, text);
      for (const [at, number] of [[4, bytes.length - 8], [16, 16], [24, rate], [28, rate], [40, rate * seconds]]) {
        view.setUint32(at, number, true);
      }
      for (const [at, number] of [[20, 1], [22, 1], [32, 1], [34, 8]]) view.setUint16(at, number, true);
      const isCompressed = ${form === 'compressed'};
      const plain = new Blob([bytes]);
      const gzip = () => new Response(plain.stream().pipeThrough(new CompressionStream('gzip'))).blob();
      const headers = { 'content-type': 'audio/wav', ...(isCompressed ? { 'content-encoding': 'gzip' } : {}) };
      await fetch('/db/photos/four/silence.wav', { method: 'PUT', body: isCompressed ? await gzip() : plain, headers });
      const info = await (await fetch('/db/photos/four?att_encoding_info=true')).json();
      if ((info._attachments['silence.wav'].encoding === 'gzip') !== isCompressed) throw new Error(JSON.stringify(info));
      const video = document.createElement('video');
      const comes = (type) => new Promise((resolve, reject) => {
        video.addEventListener(type, resolve, { once: true });
        video.addEventListener('error', () => reject(new Error(video.error.message)), { once: true });
      });
      const ready = comes('loadedmetadata');
      video.preload = 'metadata';
      video.src = '/db/photos/four/silence.wav';
      await ready;
      const sought = comes('seeked');
      video.currentTime = 880;
      await sought;
      const { buffered, seekable } = video;
      let present = 0;
      for (let part = 0; part < buffered.length; part++) present += buffered.end(part) - buffered.start(part);
      return [video.duration, video.currentTime, seekable.end(seekable.length - 1), present];
    })()`);
      // Firefox reads on until the place is sought, WebKit to the end.
      const most = { chromium: 200, firefox: 450, webkit: 900 }[engine];
      expect(played).toEqual([900, 880, 900, expect.toSatisfy((present) => present <= most)]);
    },
  );

  test("a download link saves the attachment under the link's file name, without a network request", async ({
    skip,
  }) => {
    if (session.browser.can.download !== true) skip(session.browser.can.download);
    const site = await session.openSite();
    const tab = await site.open('control');
    await call(tab, 'start', { base: '/db/' });
    await call(tab, 'request', 'fetch', 'PUT', '/db/photos');
    await tab.evaluate(
      `fetch('/db/photos/one/a%20b.txt', { method: 'PUT', body: 'hello' }).then(({ status }) => status)`,
    );
    const saved = await tab.download(`{
      const link = document.createElement('a');
      [link.href, link.download, link.textContent] = ['/db/photos/one/a%20b.txt', "it's für (you).txt", 'save'];
      document.body.append(link);
      link.click();
    }`);
    expect(saved).toEqual({ name: "it's für (you).txt", text: 'hello' });
    expect(site.server.seen.filter((path) => path.startsWith('/db/'))).toEqual([]);
    expect(await tab.evaluate('location.pathname')).toBe('/page/control');
  });

  describe.each<Way>(['settee', 'fetch'])('by %s', (way) => {
    test('a File is stored under its type, and a stream as it comes', async () => {
      const tab = await openTab();
      const stored = await tab.evaluate(`(async () => {
        const put = (path, body) => send('${way}', path, { method: 'PUT', body, duplex: 'half' });
        const read = async (path) => {
          const answer = await send('${way}', path);
          return [answer.headers.get('content-type'), await answer.text()];
        };
        const file = await put('/db/photos/file/a', new File(['of a file'], 'name.txt', { type: 'x/file' }));
        const parts = ['of ', 'a ', 'stream'].map((text) => new TextEncoder().encode(text));
        const stream = new ReadableStream({
          pull: (controller) => (parts.length > 0 ? controller.enqueue(parts.shift()) : controller.close()),
        });
        // Firefox and WebKit have no streams in requests: their 'fetch' makes text of one.
        const takesStreams = '${way}' === 'settee' || ${engine === 'chromium'};
        const streamed = takesStreams ? await put('/db/photos/stream/a', stream) : undefined;
        const found = takesStreams ? await read('/db/photos/stream/a') : undefined;
        return [file.status, await read('/db/photos/file/a'), streamed?.status ?? null, found?.[1] ?? null];
      })()`);
      const takesStreams = way === 'settee' || engine === 'chromium';
      const expected = takesStreams ? [201, 'of a stream'] : [null, null];
      expect(stored).toEqual([201, ['x/file', 'of a file'], ...expected]);
    });

    test('an upload that the page aborts is stored either completely or not at all', async () => {
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

    test('an upload that is too large or has the wrong digest is refused, and nothing is stored', async () => {
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
