import { afterAll, assert, beforeAll, describe, expect, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';

/**
 * A request of which two readers could see different ends is refused, so that no proxy in front can be made to take a part of it for
 * the next request. Each is answered with 400, and the connection ends: nothing behind it is read.
 */
let server: AttackedServer;

beforeAll(async () => {
  server = await AttackedServer.start();
  await server.client.must(201, 'PUT', '/db');
});

afterAll(() => server.remove());

const smuggled = 'PUT /db/smuggled HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}';
const chunked = `2\r\n{}\r\n0\r\n\r\n${smuggled}`;

function head(version: string, ...lines: readonly string[]): string {
  return [`POST /db HTTP/${version}`, 'Host: localhost', 'Content-Type: application/json', ...lines, '', ''].join(
    '\r\n',
  );
}

const ambiguous: readonly (readonly [string, string])[] = [
  ['an encoding on HTTP/1.0', head('1.0', 'Transfer-Encoding: chunked') + chunked],
  [
    'an encoding on HTTP/1.0 that is to be kept alive',
    head('1.0', 'Connection: keep-alive', 'Transfer-Encoding: chunked') + chunked,
  ],
  ['an encoding before chunked', head('1.1', 'Transfer-Encoding: gzip, chunked') + chunked],
  ['identity before chunked', head('1.1', 'Transfer-Encoding: identity, chunked') + chunked],
  ['an unknown encoding before chunked', head('1.1', 'Transfer-Encoding: cow, chunked') + chunked],
  [
    'an encoding before chunked in a header of its own',
    head('1.1', 'Transfer-Encoding: gzip', 'Transfer-Encoding: chunked') + chunked,
  ],
  ['chunked twice', head('1.1', 'Transfer-Encoding: chunked, chunked') + chunked],
  ['chunked before another', head('1.1', 'Transfer-Encoding: chunked, gzip') + chunked],
  ['an encoding that is none', head('1.1', 'Transfer-Encoding: xchunked') + chunked],
  ['a length beside chunked', head('1.1', 'Content-Length: 2', 'Transfer-Encoding: chunked') + chunked],
  ['two lengths', `${head('1.1', 'Content-Length: 2', 'Content-Length: 0')}{}${smuggled}`],
  ['a length with a sign', `${head('1.1', 'Content-Length: +2')}{}${smuggled}`],
  ['white space before the colon', `${head('1.1', 'Content-Length : 2')}{}${smuggled}`],
  ['a chunk whose length is none', `${head('1.1', 'Transfer-Encoding: chunked')}0x2\r\n{}\r\n0\r\n\r\n${smuggled}`],
];

describe('ambiguous framing of a request is refused', () => {
  test.for(ambiguous)('%s', async ([, text]) => {
    const answer = await server.client.sendRaw(text);
    assert.match(answer, /^HTTP\/1\.1 400 /);
    expect(answer.match(/HTTP\/1\.1 \d/g)).toHaveLength(1);
    await server.client.must(404, 'GET', '/db/smuggled');
  });
});

describe('valid framing of a request is accepted', () => {
  test('chunked encoding alone, in any case', async () => {
    const answer = await server.client.sendRaw(
      `${head('1.1', 'Connection: close', 'transfer-encoding: CHUNKED')}2\r\n{}\r\n0\r\n\r\n`,
    );
    assert.match(answer, /^HTTP\/1\.1 201 /);
  });

  test('a content length in HTTP/1.0', async () => {
    assert.match(await server.client.sendRaw(`${head('1.0', 'Content-Length: 2')}{}`), /^HTTP\/1\.[01] 201 /);
  });
});
