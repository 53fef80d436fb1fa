import { describe, expect, test } from 'vitest';
import { listen } from '../../../../src/node/http/http-server.ts';
import { hello, listenerOf, sendRaw } from './raw-requests.ts';

/** Status, headers and body of each answer. */
function answersIn(received: string): { status: number; headers: Record<string, string>; body: string }[] {
  const answers = [];
  for (let rest = received; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n');
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n');
    const headers = Object.fromEntries(lines.map((line) => [line.split(': ')[0]?.toLowerCase(), line.split(': ')[1]]));
    const bodyEnd = end + 4 + Number(headers['content-length'] ?? 0);
    answers.push({ status: Number(first.split(' ')[1]), headers, body: rest.slice(end + 4, bodyEnd) });
    rest = rest.slice(bodyEnd);
  }
  return answers;
}

describe('requests that Node would answer by itself, or not at all', () => {
  const first = 'GET /first HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const host = 'Host: localhost\r\n';
  const METHODS = 'COPY,DELETE,GET,HEAD,OPTIONS,POST,PUT,QUERY';

  const cases: readonly (readonly [what: string, text: string, status: number, error: string])[] = [
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400, 'bad_request'],
    [
      'an unknown expectation',
      `PUT / HTTP/1.1\r\n${host}Expect: tea\r\nContent-Length: 2\r\n\r\n{}`,
      417,
      'expectation_failed',
    ],
    ['an unknown method', `BREW / HTTP/1.1\r\n${host}\r\n`, 405, 'method_not_allowed'],
    ['a method in small letters', `get / HTTP/1.1\r\n${host}\r\n`, 405, 'method_not_allowed'],
    ['a method of 300 letters', `${'A'.repeat(300)} / HTTP/1.1\r\n${host}\r\n`, 405, 'method_not_allowed'],
    ['no resource', `OPTIONS * HTTP/1.1\r\n${host}\r\n`, 405, 'method_not_allowed'],
    ['a tunnel', 'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n', 405, 'method_not_allowed'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505, 'http_version_not_supported'],
    ['HTTP/2 as a version', `GET / HTTP/2.0\r\n${host}\r\n`, 505, 'http_version_not_supported'],
    ['HTTP/1.2', `GET / HTTP/1.2\r\n${host}\r\n`, 505, 'http_version_not_supported'],
    ['HTTP/0.9', 'GET /\r\n\r\n', 505, 'http_version_not_supported'],
    ['a large head', `GET / HTTP/1.1\r\n${host}X: ${'a'.repeat(70_000)}\r\n\r\n`, 431, 'too_long'],
    ['TLS', '\u0016\u0003\u0001\u0000\u00c8\u0001\u0000', 400, 'bad_request'],
    ['no HTTP', 'hello\r\n\r\n', 400, 'bad_request'],
    ['lines without CR', 'GET / HTTP/1.1\nHost: localhost\n\n', 400, 'bad_request'],
    ['a space in the address', `GET /a b HTTP/1.1\r\n${host}\r\n`, 400, 'bad_request'],
    ['a header that is none', `GET / HTTP/1.1\r\n${host}a b: c\r\n\r\n`, 400, 'bad_request'],
    ['a negative length', `PUT / HTTP/1.1\r\n${host}Content-Length: -1\r\n\r\n`, 400, 'bad_request'],
  ];

  async function exchange(text: string) {
    const server = await listen(hello, '127.0.0.1', 0);
    const answers = answersIn(await sendRaw(server, text));
    await server.close();
    return answers;
  }

  test.each(cases)(
    'are answered with Server header, error and reason, and the connection ends: %s',
    async (_what, text, status, error) => {
      const [answer, ...more] = await exchange(text);
      expect(more).toEqual([]);
      expect(answer).toMatchObject({ status, headers: { 'content-type': 'application/json', connection: 'close' } });
      expect(answer?.headers['server']).toMatch(/^Settee\//);
      expect(JSON.parse(answer?.body ?? '')).toEqual({ error, reason: expect.stringMatching(/.{10}/) });
      if (status === 405) expect(answer?.headers['allow']).toBe(METHODS);
    },
  );

  test.each(cases)('are answered after a previous request: %s', async (_what, text, status) => {
    const answers = await exchange(first + text);
    expect(answers.map((answer) => answer.status)).toEqual([200, status]);
    expect(answers[0]?.body).toBe('hello');
  });

  test('with an unreadable body are answered in the order of requests', async () => {
    const waiting = listenerOf(async ({ body }) => {
      if (typeof body === 'object' && body !== null && 'pull' in body) await body.pull();
      return { status: 200, headers: {}, body: 'read' };
    });
    const server = await listen(
      async (incoming, outgoing) => waiting(incoming, outgoing).catch(() => {}),
      '127.0.0.1',
      0,
    );
    const text = `${first}PUT / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nzz\r\n`;
    expect(answersIn(await sendRaw(server, text)).map(({ status }) => status)).toEqual([200, 400]);
    await server.close();
  });

  test('for another protocol are answered as ordinary ones, and the connection ends', async () => {
    const upgrade = `GET / HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
    const answers = await exchange(`${upgrade}${first}`);
    expect(answers).toMatchObject([{ status: 200, headers: { connection: 'close' }, body: 'hello' }]);
  });

  test('have all their headers checked, however many there are', async () => {
    const many = Array.from({ length: 3_000 }, (_, n) => `a${n}: 1\r\n`).join('');
    const seen = listenerOf(async ({ headers }) => ({ status: 200, headers: {}, body: `${headers['last']}` }));
    const server = await listen(seen, '127.0.0.1', 0);
    const text = `GET / HTTP/1.1\r\n${host}${many}Last: seen\r\nConnection: close\r\n\r\n`;
    expect(answersIn(await sendRaw(server, text))).toMatchObject([{ status: 200, body: 'seen' }]);
    await server.close();
  });
});
