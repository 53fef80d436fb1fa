import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../src/node/server/server.ts';

/** What the server refuses before the service is asked is shared with pages of other origins as well, so that they can say why. */
const APP = 'https://app.example';

let server: RunningServer;

beforeEach(async () => {
  const config = {
    httpd: { enable_cors: 'true', max_connections: '1' },
    cors: { origins: APP },
    vhosts: { 'notes.example.com': '/notes', '*': '/all' },
  };
  server = await startServer({ port: 0, memory: true, config, onLog: () => {} });
});

afterEach(() => server.close());

async function ask(headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
  const outgoing = request(server.url, { headers: { connection: 'close', ...headers } });
  outgoing.end();
  const [answer] = await once(outgoing, 'response');
  answer.resume();
  await once(answer, 'end');
  return answer;
}

test('the refusal of an unknown host has CORS headers for a listed origin', async () => {
  const shared = await ask({ host: 'evil.example', origin: APP });
  expect(shared.statusCode).toBe(403);
  expect(shared.headers).toMatchObject({ 'access-control-allow-origin': APP, vary: 'Origin' });
  const other = await ask({ host: 'evil.example', origin: 'https://evil.example' });
  expect(other.statusCode).toBe(403);
  expect(other.headers).not.toHaveProperty('access-control-allow-origin');
  expect(other.headers).toMatchObject({ vary: 'Origin', 'x-content-type-options': 'nosniff' });
});

test('the refusal of ambiguous framing has CORS headers for a listed origin', async () => {
  const answer = await ask({ origin: APP, 'transfer-encoding': 'gzip, chunked' });
  expect(answer.statusCode).toBe(400);
  expect(answer.headers).toMatchObject({ 'access-control-allow-origin': APP });
});

test('a virtual host is accepted as a host, unless only a wildcard matches it', async () => {
  expect((await ask({ host: 'notes.example.com' })).statusCode).toBe(404);
  expect((await ask({ host: 'other.example.com' })).statusCode).toBe(403);
});
