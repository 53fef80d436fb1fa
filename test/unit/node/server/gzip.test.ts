/** Compression with levels, and what becomes of attachments by it (docs/http/server.md#settings). */
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { systemRandom } from '../../../../src/base/shared/clock.ts';
import { createCore } from '../../../../src/core/core.ts';
import { deferredAtHand } from '../../../../src/core/deferred/deferred-code.ts';
import { gzip } from '../../../../src/node/server/platform.ts';
import { createMemoryPageStore } from '../../../../src/storage/memory-page-store.ts';
import { ask, askJson, clock, pick } from '../../http/support.ts';

/** Words that come again in other places: what is found of that depends on the level. */
const TEXT = Array.from({ length: 20_000 }, (_, n) => `word${(n * n) % 977} and ${(n * 31) % 4_001}`).join(' ');

async function* chunks(text = TEXT, size = 10_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size));
}

async function all(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of source) parts.push(part);
  return Buffer.concat(parts);
}

test.each([1, 6, 9])('gzip at level %i can be decoded', async (level) => {
  expect(gunzipSync(await all(gzip(chunks(), level))).toString()).toBe(TEXT);
  expect(gunzipSync(await all(gzip(chunks(''), level))).toString()).toBe('');
});

test('compressing fails with the error of its source', async () => {
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield* chunks();
    throw new Error('the sender is gone');
  }
  await expect(all(gzip(failing(), 8))).rejects.toThrow('the sender is gone');
});

test('compressing cancels its source when the reader cancels', async () => {
  let hasEnded: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    hasEnded = resolve;
  });
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield systemRandom(new Uint8Array(50_000));
    } finally {
      hasEnded();
    }
  }
  for await (const part of gzip(endless(), 1)) if (part.length > 0) break;
  await ended;
});

test('attachments are stored at the configured level, under the same revision', async () => {
  const stored = async (level: string) => {
    const config = { attachments: { compression_level: level } };
    const parts = { storage: createMemoryPageStore(), clock, random: systemRandom, deferred: deferredAtHand() };
    const core = await createCore({ ...parts, config, gzip });
    await ask(core, 'PUT /db');
    const headers = { 'content-type': 'text/plain' };
    expect((await ask(core, 'PUT /db/doc/text', { headers, body: TEXT })).status).toBe(201);
    const [, doc] = await askJson(core, 'GET /db/doc?att_encoding_info=true');
    await core.close();
    return { rev: pick(doc, '_rev'), length: Number(pick(doc, '_attachments', 'text', 'encoded_length')) };
  };
  const [quick, usual, short] = [await stored('1'), await stored('8'), await stored('9')];
  expect(usual.length).toBeLessThan(quick.length);
  expect(short.length).toBeLessThanOrEqual(usual.length);
  expect(new Set([quick.rev, usual.rev, short.rev]).size).toBe(1);
});
