import { expect, test } from 'vitest';
import { startServer } from '../../../../src/node/server/server.ts';

test('metrics have replications by state, what they wrote, tasks, and the process', async () => {
  const server = await startServer({ port: 0, memory: true, logLevel: 'none' });
  const send = async (method: string, path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json' };
    return (await fetch(`${server.url}${path}`, { method, headers, body: JSON.stringify(body) })).text();
  };
  const metrics = async () => (await fetch(`${server.url}_node/_local/_prometheus`)).text();
  try {
    expect(await metrics()).toContain('\nsvc_replication_docs_written_total 0\n');
    await send('PUT', 'db', undefined);
    await send('PUT', 'db/_design/d', { views: { v: { map: 'function (doc) { emit(1); }' } } });
    await fetch(`${server.url}db/_design/d/_view/v`);
    await send('POST', '_replicate', { source: 'db', target: 'copy', create_target: true });
    await send('POST', '_replicate', { source: 'db', target: 'copy', continuous: true });
    const text = await metrics();
    expect(text).toContain('\nsvc_replications{state="running"} 1\nsvc_replications{state="paused"} 0\n');
    expect(text).toContain('\nsvc_replication_docs_written_total 1\n');
    expect(text).toContain('\nsvc_replication_doc_write_failures_total 0\n');
    expect(text).toMatch(/\nsvc_tasks_total\{type="indexer"\} [1-9]/);
    expect(text).toMatch(/\nsvc_process_resident_memory_bytes [1-9]\d{6,}\n/);
    expect(text).toMatch(/\nsvc_process_cpu_seconds_total [\d.]+\n/);
  } finally {
    await server.close();
  }
});
