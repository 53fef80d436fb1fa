import { serialize } from 'node:v8';
import { describe, expect, test, vi } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { parseJson, readJson, readObject, readText, requireJsonType } from '../../../../src/http/request/bodies.ts';
import { contextOf, streamOf } from '../support.ts';

const encoder = new TextEncoder();
const bytes = (text: string) => encoder.encode(text);

async function gzip(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Bytes. */
const LIMIT = 256;
const small = { svc: { max_document_size: `${LIMIT}` } };
const ofLimit = `"${'1'.repeat(LIMIT - 2)}"`;
const beyond = `"${'1'.repeat(LIMIT - 1)}"`;
const tooLarge = {
  code: 'too_large',
  reason: expect.stringMatching(/^the request entity is too large: its JSON may have \d+ bytes/),
};
const invalid = { code: 'bad_request', reason: 'invalid_json' };

describe('reading a request body', () => {
  test.each([
    ['text', '{"a":"€"}'],
    ['bytes', bytes('{"a":"€"}')],
    ['a blob', new Blob(['{"a":"€"}'])],
    ['a stream that cuts a character in two', streamOf([bytes('{"a":"€').slice(0, 8), bytes('€"}').slice(2)]).stream],
  ])('works as %s', async (_kind, body) => {
    expect(await readText(contextOf({ body }))).toBe('{"a":"€"}');
  });

  test('of long Latin text takes one byte per character', async () => {
    const long = 'x'.repeat(3_000_000);
    const text = await readText(contextOf({ body: bytes(long) }));
    expect(text === long).toBe(true);
    expect(serialize(text).length).toBeLessThan(long.length + 100);
  });

  test('that is missing returns the empty text', async () => {
    expect(await readText(contextOf({}))).toBe('');
  });

  test('skips a byte order mark', async () => {
    expect(await readText(contextOf({ body: new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d]) }))).toBe('{}');
  });

  test('refuses invalid UTF-8', async () => {
    await expect(async () => readText(contextOf({ body: new Uint8Array([0x22, 0xff, 0x22]) }))).rejects.toMatchObject(
      invalid,
    );
    await expect(async () => readText(contextOf({ body: new Uint8Array([0xed, 0xa0, 0x80]) }))).rejects.toMatchObject(
      invalid,
    );
  });

  test('replaces lone surrogates in text, as sending over a network does', async () => {
    expect(await readText(contextOf({ body: '"\ud800 😀 \udc00"' }))).toBe('"\ufffd 😀 \ufffd"');
  });

  test.each([
    ['text', beyond],
    ['text whose bytes are more than its units', `"${'€'.repeat(85)}"`],
    ['bytes', bytes(beyond)],
    ['a blob', new Blob([beyond])],
  ])('refuses %s beyond the limit', async (_kind, body) => {
    await expect(async () => readText(contextOf({ body }, small))).rejects.toMatchObject(tooLarge);
  });

  test('accepts exactly the limit', async () => {
    expect(await readText(contextOf({ body: ofLimit }, small))).toHaveLength(LIMIT);
    expect(await readText(contextOf({ body: bytes(ofLimit) }, small))).toHaveLength(LIMIT);
  });

  test('reads a stream no further than the limit', async () => {
    const { stream, seen } = streamOf(Array.from({ length: 100 }, () => bytes('0123456789')));
    await expect(async () => readText(contextOf({ body: stream }, small))).rejects.toMatchObject(tooLarge);
    expect(seen.pulls).toBe(26);
  });

  test('refuses an announced length beyond the limit at once', async () => {
    const { stream, seen } = streamOf([bytes('{}')], { length: LIMIT + 1 });
    await expect(async () => readText(contextOf({ body: stream }, small))).rejects.toMatchObject(tooLarge);
    expect(seen.pulls).toBe(0);
  });

  test('refuses a length in the header beyond the limit at once', async () => {
    const { stream, seen } = streamOf([bytes('{}')]);
    const announced = contextOf({ body: stream, headers: { 'content-length': `${LIMIT + 1}` } }, small);
    await expect(async () => readText(announced)).rejects.toMatchObject(tooLarge);
    expect(seen.pulls).toBe(0);
  });

  test.each([
    ['that fails', streamOf([bytes('{"a":')], { broken: true })],
    ['that ends before its announced length', streamOf([bytes('{}')], { length: 3 })],
  ])('refuses a stream %s as a bad request', async (_how, { stream }) => {
    const reason = 'The request body broke off before its end; nothing was changed.';
    await expect(async () => readText(contextOf({ body: stream }))).rejects.toMatchObject({
      code: 'bad_request',
      reason,
    });
  });
});

test('a stream whose sender is silent for too long times out, however it is read', async () => {
  const silent = new DatabaseError('request_timeout', 'Nothing came.');
  const stream = { pull: () => Promise.reject(silent), cancel: async () => undefined };
  await expect(async () => readText(contextOf({ body: stream }))).rejects.toBe(silent);
});

describe('content encodings', () => {
  const zipped = { 'content-encoding': 'gzip' };

  test('gzip is inflated in every form of body', async () => {
    const data = await gzip('{"a":"€"}');
    for (const body of [data, new Blob([data]), streamOf([data.slice(0, 5), data.slice(5)]).stream]) {
      expect(await readText(contextOf({ body, headers: zipped }))).toBe('{"a":"€"}');
    }
  });

  test('identity is accepted', async () => {
    expect(await readText(contextOf({ body: '{}', headers: { 'content-encoding': 'identity' } }))).toBe('{}');
  });

  test('others are refused by name', async () => {
    await expect(async () =>
      readText(contextOf({ body: '{}', headers: { 'content-encoding': 'br' } })),
    ).rejects.toMatchObject({
      code: 'bad_content_type',
      reason: 'br is not a supported content encoding.',
    });
  });

  test('the limit applies to the decoded body', async () => {
    const bomb = await gzip(' '.repeat(10_000_000));
    expect(bomb.length).toBeLessThan(20_000);
    const limit = { svc: { max_document_size: '20000' } };
    await expect(async () => readText(contextOf({ body: bomb, headers: zipped }, limit))).rejects.toMatchObject(
      tooLarge,
    );
  });

  test('invalid or incomplete gzip is a bad request', async () => {
    const data = await gzip('{"a":1}');
    const broken = [bytes('{"a":1}'), data.slice(0, 12), data.slice(0, -1), new Uint8Array()];
    for (const body of broken) {
      await expect(async () => readText(contextOf({ body, headers: zipped }))).rejects.toMatchObject({
        code: 'bad_request',
        reason: 'The request body is not valid gzip data.',
      });
    }
  });
});

describe('JSON in a body', () => {
  test('can be any value up to 1000 levels deep', async () => {
    expect(await readJson(contextOf({ body: '7' }))).toBe(7);
    const deep = await readJson(contextOf({ body: '['.repeat(1_000) + ']'.repeat(1_000) }));
    expect(Array.isArray(deep)).toBe(true);
  });

  test('is refused if it is nested too deeply, before anything is built from it', async () => {
    const body = new TextDecoder().decode(Buffer.alloc(10_000_000, '['));
    const parse = vi.spyOn(JSON, 'parse');
    await expect(async () => readJson(contextOf({ body }))).rejects.toMatchObject({ code: 'bad_request' });
    expect(() => parseJson(body)).toThrow(expect.objectContaining({ code: 'bad_request' }));
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
  });

  test.each(['', '{', "{'a':1}", 'undefined'])('%s is invalid', (text) => {
    expect(() => parseJson(text)).toThrow(expect.objectContaining(invalid));
  });

  test.each(['[]', '7', 'null', '"a"', 'true'])('%s is not an object', async (body) => {
    const reason = 'Request body must be a JSON object';
    await expect(async () => readObject(contextOf({ body }))).rejects.toMatchObject({ code: 'bad_request', reason });
  });
});

describe('the check of the content type', () => {
  test.each(['application/json', 'Application/JSON', 'application/json; charset=utf-8', ' application/json ;x=y'])(
    'accepts %s',
    (type) => {
      expect(() => requireJsonType(contextOf({ headers: { 'content-type': type } }))).not.toThrow();
    },
  );

  test.each(['', 'text/plain', 'application/jsonx', 'application/json;a=1;b=2', 'multipart/related'])(
    'refuses "%s"',
    (type) => {
      expect(() => requireJsonType(contextOf({ headers: { 'content-type': type } }))).toThrow(
        'bad_content_type: Content-Type must be application/json',
      );
    },
  );

  test('refuses a missing content type', () => {
    expect(() => requireJsonType(contextOf({}))).toThrow('bad_content_type');
  });
});
