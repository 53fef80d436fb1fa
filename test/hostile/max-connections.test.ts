import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, assert, beforeEach, expect, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';

/** `httpd/max_connections` is honoured: one more is turned away at once, and taken when another has gone. */
let server: AttackedServer;
let sockets: Socket[] = [];

beforeEach(async () => {
  server = await AttackedServer.start({ settings: ['httpd/max_connections=5'] });
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await server.remove();
});

/** Connects, asks, and gives what comes: the head of an answer, or nothing where the connection ends. The connection stays open. */
async function ask(): Promise<{ readonly socket: Socket; readonly answer: string }> {
  const socket = connect({ host: server.url.hostname, port: Number(server.url.port) });
  sockets.push(socket);
  const answer = await new Promise<string>((resolve) => {
    socket.setEncoding('latin1').once('data', (text: string) => resolve(text));
    socket.once('close', () => resolve(''));
    socket.on('error', () => resolve(''));
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  });
  return { socket, answer };
}

test('max_connections is a setting that the server reads', () => {
  expect(server.log).not.toMatch(/max_connections/);
});

test('with a limit of five, the sixth connection is answered 503 or closed', async () => {
  for (let n = 0; n < 5; n++) assert.match((await ask()).answer, /^HTTP\/1\.1 200 /);
  assert.match((await ask()).answer, /^$|^HTTP\/1\.1 503 /);
});

test('connections without a request count towards the limit', async () => {
  for (let n = 0; n < 5; n++) {
    const socket = connect({ host: server.url.hostname, port: Number(server.url.port) });
    sockets.push(socket);
    await once(socket, 'connect');
  }
  assert.match((await ask()).answer, /^$|^HTTP\/1\.1 503 /);
});

test('a closed connection makes room for another', async () => {
  const asked = [];
  for (let n = 0; n < 5; n++) asked.push(await ask());
  const [first] = asked;
  first?.socket.end();
  await once(first?.socket ?? assert.fail(), 'close');
  assert.match((await ask()).answer, /^HTTP\/1\.1 200 /);
});
