import { describe, expect, test, vi } from 'vitest';
import { DirectResponse, type TextSource } from '../../../../src/browser/client/direct-response.ts';

const json = '{"_id":"a","city":"Tromsø 🎉"}';
const encoded = new TextEncoder().encode(json);

function fromText(text = json): DirectResponse {
  return new DirectResponse('https://app.example/db/a', { status: 200 }, text, text, false);
}

/** Gives its text cut in two. */
const inPieces: TextSource = {
  readText: async (take) => {
    take(json.slice(0, 9));
    take(json.slice(9));
  },
};

function fromStream(source = inPieces): DirectResponse {
  const readable = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => {
      controller.enqueue(encoded);
      controller.close();
    },
  });
  return new DirectResponse('https://app.example/db/a', { status: 200 }, readable, source, false);
}

describe.each([
  ['text', fromText],
  ['a stream', fromStream],
])('a body that is %s', (_kind, make) => {
  test('is read as text, JSON, bytes or a Blob', async () => {
    expect(await make().text()).toBe(json);
    expect(await make().json()).toEqual({ _id: 'a', city: 'Tromsø 🎉' });
    expect(new Uint8Array(await make().arrayBuffer())).toEqual(encoded);
    expect((await make().blob()).size).toBe(encoded.length);
  });

  test.each(['text', 'json'] as const)('is read once by %s()', async (read) => {
    const response = make();
    expect(response.bodyUsed).toBe(false);
    await response[read]();
    expect(response.bodyUsed).toBe(true);
    for (const again of ['text', 'json', 'arrayBuffer', 'blob'] as const) {
      await expect(response[again]()).rejects.toThrow(TypeError);
    }
    expect(() => response.clone()).toThrow(TypeError);
  });

  test("that was read as bytes can't be read as text again", async () => {
    const response = make();
    await response.arrayBuffer();
    expect(response.bodyUsed).toBe(true);
    await expect(response.text()).rejects.toThrow(TypeError);
  });

  test('can be read from a clone as well', async () => {
    const response = make();
    const copy = response.clone();
    expect([await response.text(), await copy.text()]).toEqual([json, json]);
  });

  test('has address, status and headers in a clone as well', async () => {
    const headers = { etag: '"1-a"' };
    const response = new DirectResponse('https://app.example/b', { status: 201, headers }, json, json, true);
    const { url, redirected, status, headers: copied } = response.clone().clone();
    expect([url, redirected, status, copied.get('etag')]).toEqual(['https://app.example/b', true, 201, '"1-a"']);
    const empty = new DirectResponse('https://app.example/b', { status: 304 }, null, undefined, false).clone();
    expect([empty.url, empty.status, empty.body]).toEqual(['https://app.example/b', 304, null]);
  });

  test('that is read as a stream is left to the browser', async () => {
    const response = make();
    const reader = response.body?.getReader();
    await expect(response.text()).rejects.toThrow(TypeError);
    expect((await reader?.read())?.value).toEqual(encoded);
  });
});

test('json() of text that is not JSON rejects with a SyntaxError', async () => {
  await expect(fromText('no').json()).rejects.toThrow(SyntaxError);
});

test('an empty body is read as empty text', async () => {
  const response = fromText('');
  expect(await response.text()).toBe('');
  await expect(response.text()).rejects.toThrow(TypeError);
});

test('the text of a stream is requested once, and reading fails if that fails', async () => {
  const readText = vi.fn(() => Promise.reject(new TypeError('The body broke off')));
  await expect(fromStream({ readText }).json()).rejects.toThrow('The body broke off');
  expect(readText).toHaveBeenCalledTimes(1);
});

test('a response has the address and the redirected flag that it was given', () => {
  const { url, redirected, status } = new DirectResponse(
    'https://app.example/b',
    { status: 404 },
    null,
    undefined,
    true,
  );
  expect([url, redirected, status]).toEqual(['https://app.example/b', true, 404]);
});
