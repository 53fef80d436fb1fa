import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';
import { noProcessFiles } from './support/process-use.ts';

/** A process may have few files open: clients that take all of them neither end the server nor keep databases from being opened. */
const DESCRIPTORS = 80;
const CONNECTIONS = 120;
const DATABASES = 60;
const timeout = 240_000;

let server: AttackedServer;
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  return server.remove();
});

/** Resolves when the server has taken all of them in, or turned them away. */
async function connectMany(): Promise<void> {
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const socket = connect({ host: server.url.hostname, port: Number(server.url.port) });
      socket.on('error', () => {});
      sockets.push(socket);
      await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
    }),
  );
}

describe.skipIf(noProcessFiles !== undefined)('with 80 file descriptors', () => {
  test('a server that runs out of descriptors continues', { timeout }, async () => {
    server = await AttackedServer.start({ descriptors: DESCRIPTORS });
    // Has a connection of its own before the others come.
    await server.client.must(201, 'PUT', '/first');
    await connectMany();
    const statuses = new Map<number, number>();
    const note = (status: number) => statuses.set(status, (statuses.get(status) ?? 0) + 1);
    for (let n = 0; n < DATABASES; n += 1) {
      const { status } = await server.client.ask('PUT', `/db${n}`);
      note(status);
      if (status === 201) note((await server.client.ask('PUT', `/db${n}/doc`, { json: {} })).status);
    }
    for (let n = 0; n < DATABASES; n += 1) note((await server.client.ask('GET', `/db${n}/doc`)).status);
    console.log(
      `${DESCRIPTORS} descriptors, ${CONNECTIONS} connections, ${DATABASES} databases made and read: ${JSON.stringify([...statuses])}`,
    );
    expect(server.isRunning, server.log).toBe(true);
    expect([...statuses.keys()].sort()).toEqual([200, 201]);
    for (const socket of sockets.splice(0)) socket.destroy();
    await server.stop();
    expect((await server.verify()).code).toBe(0);
  });
});
