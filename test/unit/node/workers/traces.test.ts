import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SetteeProcess } from '../settee-process.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

test('a request that a reader passes on keeps its trace, and is one line of JSON with its user', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'settee-worker-traces-test-'));
  const server = new SetteeProcess([
    'serve',
    '--no-demo',
    '--port',
    '0',
    '--workers',
    '2',
    '--data',
    folder,
    '--set',
    'log/requests=json',
    '--set',
    'admins/ana=secret',
  ]);
  try {
    const url = await server.url();
    const headers = {
      authorization: `Basic ${Buffer.from('ana:secret').toString('base64')}`,
      traceparent: `00-${TRACE}-b7ad6b7169203331-01`,
    };
    const put = await fetch(`${url}db`, { method: 'PUT', headers });
    expect(put.status).toBe(201);
    expect(put.headers.get('traceresponse')).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
    // Readers send their entries to the owner before requests that they pass on; the owner answers `_log`.
    let log = '';
    while (!log.includes('"path":"/db"')) log = await (await fetch(`${url}_log?bytes=100000`, { headers })).text();
    const lines = log.split('\n').filter((line) => line.includes('"path":"/db"'));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { method: 'PUT', status: 201, user: 'ana', trace_id: TRACE, database: 'db', peer: '127.0.0.1' },
    ]);
  } finally {
    await server.stop();
    await rm(folder, { recursive: true });
  }
});
