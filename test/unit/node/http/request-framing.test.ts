import { describe, expect, test } from 'vitest';
import type { Handle } from '../../../../src/base/shared/message.ts';
import { listen } from '../../../../src/node/http/http-server.ts';
import { createListener } from '../../../../src/node/http/listener.ts';
import { sendRaw } from './raw-requests.ts';

describe('a request with ambiguous framing or two hosts', () => {
  const smuggled = 'DELETE /smuggled HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
  const chunked = `2\r\n{}\r\n0\r\n\r\n${smuggled}`;
  const head = (version: string, ...lines: string[]) =>
    [`POST / HTTP/${version}`, 'Host: localhost', ...lines, '', ''].join('\r\n');

  async function exchange(text: string): Promise<{ readonly answer: string; readonly asked: readonly string[] }> {
    const asked: string[] = [];
    const handle: Handle = async ({ method, url }) => {
      asked.push(`${method} ${url}`);
      return { status: 200, headers: {}, body: 'taken' };
    };
    const server = await listen(
      createListener(handle, () => {}),
      '127.0.0.1',
      0,
    );
    const answer = await sendRaw(server, text);
    await server.close();
    return { answer, asked };
  }

  test.each([
    ['1.0', 'Transfer-Encoding: chunked'],
    ['1.0', 'Connection: keep-alive\r\nTransfer-Encoding: chunked'],
    ['1.1', 'Transfer-Encoding: gzip, chunked'],
    ['1.1', 'Transfer-Encoding: identity, chunked'],
    ['1.1', 'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked'],
    ['1.1', 'Transfer-Encoding: chunked, chunked'],
    ['1.1', 'Transfer-Encoding: chunked, gzip'],
    ['1.1', 'Transfer-Encoding: xchunked'],
    ['1.1', 'Content-Length: 2\r\nTransfer-Encoding: chunked'],
    ['1.1', 'Content-Length: 2\r\nContent-Length: 0'],
    ['1.1', 'Host: localhost\r\nTransfer-Encoding: chunked'],
    ['1.1', 'host: other.localhost\r\nTransfer-Encoding: chunked'],
  ])('is refused with 400, and nothing after it is read: HTTP/%s, %s', async (version, lines) => {
    const { answer, asked } = await exchange(head(version, lines) + chunked);
    expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\nConnection: close\r\n[\s\S]*"error":"bad_request","reason":"/);
    expect(answer.match(/HTTP\/1\.1 \d/g)).toHaveLength(1);
    expect(asked).toEqual([]);
  });

  test('is refused after the response to the previous request', async () => {
    const first = 'GET /first HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const { answer, asked } = await exchange(first + head('1.1', 'Transfer-Encoding: gzip, chunked') + chunked);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
    expect(asked).toEqual(['GET /first']);
  });

  test('is refused with the reason', async () => {
    expect((await exchange(head('1.0', 'Transfer-Encoding: chunked') + chunked)).answer).toContain(
      'HTTP/1.0 has no Transfer-Encoding. Send the body with a Content-Length, or the request as HTTP/1.1.',
    );
    expect((await exchange(head('1.1', 'Transfer-Encoding: gzip, chunked') + chunked)).answer).toContain(
      'Transfer-Encoding must be \\"chunked\\" and nothing else. Name the compression of the body in Content-Encoding.',
    );
  });

  test.each(['chunked', 'CHUNKED', ' chunked '])('is not one with the encoding "%s"', async (encoding) => {
    const text = `${head('1.1', 'Connection: close', `Transfer-Encoding: ${encoding}`)}2\r\n{}\r\n0\r\n\r\n`;
    expect(await exchange(text)).toEqual({ answer: expect.stringMatching(/^HTTP\/1\.1 200 /), asked: ['POST /'] });
  });
});
