import { assert } from 'chai';
import { type Answer, assertError } from '../../support/conformance/answer.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

const TEXT = '0123456789abcdefghij';

async function prepare(t: Toolkit): Promise<(range: string, more?: Record<string, string>) => Promise<Answer>> {
  const put = await t.at('PUT', '/doc/a', { body: TEXT, headers: { 'content-type': 'x/y' } });
  assert.equal(put.status, 201, put.text);
  return (range, more = {}) => t.get('/doc/a', { range, ...more });
}

/** Of a type that is compressed, over several pages when it is not, and of parts that all differ. */
const LONG_TEXT = Array.from({ length: 60_000 }, (_, line) => `${String(line).padStart(9, '0')}\n`).join('');

async function putText(t: Toolkit): Promise<void> {
  const put = await t.at('PUT', '/doc/text', { body: LONG_TEXT, headers: { 'content-type': 'text/plain' } });
  assert.equal(put.status, 201, put.text);
}

/** Parts of attachments (docs/http/attachments.md#ranges-of-attachments). */
export default suite('attachment_ranges', [
  test('one range returns that part', async (t) => {
    const read = await prepare(t);
    for (const [range, part, text] of [
      ['bytes=0-0', '0-0', '0'],
      ['bytes=3-5', '3-5', '345'],
      ['bytes=15-', '15-19', 'fghij'],
      ['bytes=0-', '0-19', TEXT],
      ['bytes=-3', '17-19', 'hij'],
      ['bytes=-100', '0-19', TEXT],
      ['bytes=18-100', '18-19', 'ij'],
      ['Bytes = 1-2', '1-2', '12'],
    ]) {
      const answer = await read(range ?? '');
      assert.equal(answer.status, 206, range);
      assert.equal(answer.header('content-range'), `bytes ${part}/20`, range);
      assert.equal(answer.header('content-type'), 'x/y');
      assert.equal(answer.text, text, range);
      assert.isUndefined(answer.header('content-md5'));
    }
  }),

  test('several ranges return several parts', async (t) => {
    const read = await prepare(t);
    const answer = await read('bytes=0-1,5-6, -1');
    assert.equal(answer.status, 206);
    const boundary = /^multipart\/byteranges; boundary="([^"]+)"$/.exec(answer.header('content-type') ?? '')?.[1];
    assert.isString(boundary);
    const part = (range: string, text: string) =>
      `\r\n--${boundary}\r\nContent-Type: x/y\r\nContent-Range: bytes ${range}/20\r\n\r\n${text}`;
    const expected = `${part('0-1', '01')}${part('5-6', '56')}${part('19-19', 'j')}\r\n--${boundary}--`;
    assert.equal(answer.text, expected);
  }),

  test('an invalid range, or too many ranges, return the whole attachment', async (t) => {
    const read = await prepare(t);
    const many = `bytes=${Array.from({ length: 10 }, (_, index) => `${index}-${index}`).join(',')}`;
    for (const range of [many, 'bytes=', 'bytes=a-b', 'bytes=-', 'lines=0-1', 'bytes 0-1']) {
      const answer = await read(range);
      assert.equal(answer.status, 200, range);
      assert.equal(answer.text, TEXT, range);
    }
  }),

  test('a range outside of the attachment is answered 416, with the length', async (t) => {
    const read = await prepare(t);
    for (const range of ['bytes=20-', 'bytes=5-3', 'bytes=100-200', 'bytes=-0']) {
      const answer = await read(range);
      assertError(answer, 416, 'requested_range_not_satisfiable', 'Requested range not satisfiable');
      assert.equal(answer.header('content-range'), 'bytes */20', range);
    }
  }),

  test("a range with an If-Range that doesn't match returns the whole attachment", async (t) => {
    const read = await prepare(t);
    const tag = (await t.get('/doc/a')).header('etag') ?? '';
    assert.equal((await read('bytes=0-0', { 'if-range': tag })).status, 206);
    assert.equal((await read('bytes=0-0', { 'if-range': '"other"' })).status, 200);
  }),

  test('a range of an attachment stored compressed returns plain bytes', async (t) => {
    await putText(t);
    for (const [range, part] of [
      ['bytes=0-0', [0, 0]],
      ['bytes=0-', [0, 599_999]],
      ['bytes=300000-300009', [300_000, 300_009]],
      ['bytes=599990-700000', [599_990, 599_999]],
      ['bytes=-10', [599_990, 599_999]],
    ] as const) {
      const answer = await t.get('/doc/text', { range, 'accept-encoding': 'identity' });
      assert.equal(answer.status, 206, range);
      assert.equal(answer.header('content-range'), `bytes ${part.join('-')}/600000`, range);
      assert.equal(answer.text, LONG_TEXT.slice(part[0], part[1] + 1), range);
      assert.equal(answer.header('accept-ranges'), 'bytes');
      assert.isUndefined(answer.header('content-encoding'));
      assert.isUndefined(answer.header('content-md5'));
    }
    for (const range of ['bytes=600000-', 'bytes=5-3', 'bytes=-0']) {
      const answer = await t.get('/doc/text', { range });
      assertError(answer, 416, 'requested_range_not_satisfiable', 'Requested range not satisfiable');
      assert.equal(answer.header('content-range'), 'bytes */600000', range);
    }
  }),

  test('several ranges of an attachment stored compressed return their parts, in any order', async (t) => {
    await putText(t);
    const answer = await t.get('/doc/text', {
      range: 'bytes=500000-500004,1-3,1-2,599999-',
    });
    assert.equal(answer.status, 206);
    const boundary = /^multipart\/byteranges; boundary="([^"]+)"$/.exec(answer.header('content-type') ?? '')?.[1];
    const parts = [
      [500_000, 500_004],
      [1, 3],
      [1, 2],
      [599_999, 599_999],
    ].map(([first = 0, last = 0]) => {
      const head = `Content-Type: text/plain\r\nContent-Range: bytes ${first}-${last}/600000`;
      return `\r\n--${boundary}\r\n${head}\r\n\r\n${LONG_TEXT.slice(first, last + 1)}`;
    });
    assert.equal(answer.text, `${parts.join('')}\r\n--${boundary}--`);
  }),

  test('ranges for which a compressed attachment would be inflated often return the whole', async (t) => {
    await putText(t);
    for (const [range, status] of [
      ['bytes=9-9,7-7,5-5', 206],
      ['bytes=9-9,7-7,5-5,3-3', 200],
      ['bytes=0-,0-,0-,0-', 200],
      ['bytes=1-1,3-3,5-5,7-7', 206],
    ] as const) {
      assert.equal((await t.get('/doc/text', { range })).status, status, range);
    }
  }),

  test(
    'a client that accepts gzip gets plain ranges with their own ETag',
    async (t) => {
      await putText(t);
      const identity = { 'accept-encoding': 'identity' };
      const tag = (await t.get('/doc/text', identity)).header('etag') ?? '';
      const part = await t.get('/doc/text', { range: 'bytes=5-9', 'accept-encoding': 'gzip' });
      assert.equal(part.status, 206);
      assert.equal(part.text, LONG_TEXT.slice(5, 10));
      assert.isUndefined(part.header('content-encoding'));
      const partTag = part.header('etag') ?? '';
      assert.equal(partTag, `${tag.slice(0, -1)}-plain"`);
      const read = (ifRange: string, coding: string) =>
        t.get('/doc/text', { range: 'bytes=5-9', 'if-range': ifRange, 'accept-encoding': coding });
      // A beginning under the simple tag may be gzip: its end can't be cut from plain bytes.
      assert.equal((await read(tag, 'gzip')).status, 200);
      assert.equal((await read(tag, 'identity')).status, 206);
      assert.equal((await read(partTag, 'gzip')).status, 206);
      assert.equal((await read(partTag, 'identity')).status, 206);
      assert.equal((await read('"other"', 'identity')).status, 200);
      assert.equal((await t.get('/doc/text', { ...identity, 'if-none-match': partTag })).status, 304);
    },
    { needs: ['forbidden-headers'] },
  ),

  test('HEAD says that ranges are accepted, and ignores Range', async (t) => {
    await putText(t);
    const head = await t.at('HEAD', '/doc/text', { headers: { range: 'bytes=0-0', 'accept-encoding': 'identity' } });
    assert.equal(head.status, 200);
    assert.equal(head.header('accept-ranges'), 'bytes');
    assert.equal(head.header('content-length'), '600000');
    assert.match(head.header('vary') ?? '', /accept-encoding/i);
  }),

  test('a range across the border of stored pages is complete', async (t) => {
    const large = new Uint8Array(600_000).map((_, index) => (index * 31 + (index >> 8)) % 256);
    await t.at('PUT', '/doc/a', { body: large, headers: { 'content-type': 'x/y' } });
    const answer = await t.get('/doc/a', { range: 'bytes=262000-525000' });
    assert.equal(answer.status, 206);
    assert.deepEqual(answer.bytes, large.slice(262_000, 525_001));
  }),
]);
