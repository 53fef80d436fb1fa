/** A Node server of Settee, as a process of its own, whose databases pages of the bench may replicate. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtMain } from '../../../src/node/prepare.mjs';
import { Client } from '../http-client.mjs';
import { ServerProcess } from '../processes.mjs';
import { Workload } from '../workload.mjs';

/** `origin`: of the bench page. */
export async function startRemote(origin) {
  const folder = mkdtempSync(join(tmpdir(), 'settee-bench-'));
  const server = await ServerProcess.startSettee(builtMain, folder);
  await setUp(server, origin);
  return {
    /** Makes a database of `count` documents. Gives its address. */
    async fill(name, count) {
      const workload = await Workload.open(server, name);
      await workload.create();
      await workload.bulk('random', 0, count);
      workload.close();
      return `http://127.0.0.1:${server.port}/${name}`;
    },
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function setUp(server, origin) {
  const client = await Client.open(server.port);
  await client.ask('PUT', '/_config/cors/origins', JSON.stringify(origin));
  await client.ask('PUT', '/_config/cors/credentials', JSON.stringify('true'));
  await client.ask('PUT', '/_config/httpd/enable_cors', JSON.stringify('true'));
  client.close();
}
