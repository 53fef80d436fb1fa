import { describe, expect, test } from 'vitest';
import type { ByteStream } from '../../../../src/base/shared/message.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { isStream } from '../../../../src/http/request/bodies.ts';
import { streamedBody, type TextSource, textBody } from '../../../../src/http/response/streams.ts';
import { contextOf, textOf } from '../support.ts';

const KILOBYTE = 'x'.repeat(1024);

/** `count` pieces of a kilobyte; fails before the piece with the number `failAt`. */
function source(count: number, failAt = Number.POSITIVE_INFINITY) {
  const seen = { produced: 0, released: 0, closed: 0 };
  async function* pieces(): AsyncGenerator<string, void, void> {
    try {
      for (let piece = 0; piece < count; piece++) {
        if (piece === failAt) throw new Error('the page could not be read');
        seen.produced++;
        yield KILOBYTE;
      }
    } finally {
      seen.closed++;
    }
  }
  const text: TextSource = {
    pieces: pieces(),
    release: () => {
      seen.released++;
    },
  };
  return { text, seen };
}

async function streamOf(text: TextSource): Promise<ByteStream> {
  const body = await textBody(text, silentLog);
  if (!isStream(body)) throw new Error('a stream was expected');
  return body;
}

describe('text produced piece by piece', () => {
  test('is one string if it is short', async () => {
    const { text, seen } = source(3);
    expect(await textBody(text, silentLog)).toBe(KILOBYTE.repeat(3));
    expect(seen).toEqual({ produced: 3, released: 1, closed: 1 });
  });

  test('is sent in chunks of 64 KB otherwise, each produced when it is pulled', async () => {
    const { text, seen } = source(200);
    const stream = await streamOf(text);
    expect(seen.produced).toBe(64);
    expect((await stream.pull())?.length).toBe(65_536);
    expect(seen.produced).toBe(64);
    expect((await stream.pull())?.length).toBe(65_536);
    expect(seen.produced).toBe(128);
    expect((await stream.pull())?.length).toBe(65_536);
    expect((await stream.pull())?.length).toBe(8 * 1024);
    expect(seen).toEqual({ produced: 200, released: 1, closed: 1 });
    expect(await stream.pull()).toBeUndefined();
    expect(await stream.pull()).toBeUndefined();
    expect(seen.released).toBe(1);
  });

  test('ends correctly if the last chunk is full', async () => {
    const { text, seen } = source(128);
    expect(await textOf(await streamOf(text))).toBe(KILOBYTE.repeat(128));
    expect(seen.released).toBe(1);
  });

  test("fails by itself if its first chunk can't be produced", async () => {
    const { text, seen } = source(200, 10);
    await expect(textBody(text, silentLog)).rejects.toThrow('the page could not be read');
    expect(seen).toMatchObject({ released: 1, closed: 1 });
  });

  test("is aborted if a later chunk can't be produced, and the log says so", async () => {
    const { text, seen } = source(200, 100);
    const logged: string[] = [];
    const body = await textBody(text, { ...silentLog, error: (message) => logged.push(message) });
    await expect(textOf(body)).rejects.toThrow('the page could not be read');
    expect(seen).toEqual({ produced: 100, released: 1, closed: 1 });
    expect(logged).toEqual(['A streamed response broke off']);
  });

  test('is released when the reader cancels', async () => {
    const { text, seen } = source(1000);
    const stream = await streamOf(text);
    await stream.pull();
    await stream.cancel('gone');
    expect(seen).toEqual({ produced: 64, released: 1, closed: 1 });
    expect(await stream.pull()).toBeUndefined();
    await stream.cancel();
    expect(seen.released).toBe(1);
  });

  test('is released after the current step when the reader cancels during it', async () => {
    const { text, seen } = source(1000);
    const stream = await streamOf(text);
    await stream.pull();
    const pulled = stream.pull();
    const cancelled = stream.cancel();
    expect(seen.released).toBe(0);
    await Promise.all([pulled, cancelled]);
    expect(seen).toMatchObject({ released: 1, closed: 1 });
    expect(seen.produced).toBeLessThan(128);
  });

  test('is produced for HEAD only as far as needed to know whether it has a length', async () => {
    const context = contextOf({ method: 'HEAD' });
    context.isHead = true;
    const long = source(1000);
    expect(await streamedBody(context, long.text.pieces, long.text.release)).toBeNull();
    expect(long.seen).toMatchObject({ released: 1, closed: 1 });
    expect(long.seen.produced).toBeLessThan(128);
    const short = source(2);
    expect(await streamedBody(context, short.text.pieces, short.text.release)).toBeTypeOf('string');
    expect(short.seen).toMatchObject({ produced: 2, released: 1 });
  });
});
