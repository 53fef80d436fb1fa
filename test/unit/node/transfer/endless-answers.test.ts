/** Servers whose answers have no end: the commands read no more of them than they need. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RemoteDatabase } from '../../../../src/node/transfer/remote-database.ts';
import { runCommand } from '../run-command.ts';

let server: Server;
let url: string;
let answer: (path: string | undefined, response: ServerResponse) => void;

beforeEach(async () => {
  server = createServer(({ url: path }, response) => {
    response.on('error', () => undefined);
    answer(path, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/db`;
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Writes as long as the other side reads. */
function endless(response: ServerResponse, status: number, first: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).write(first);
  const more = () => {
    while (!response.destroyed && response.write('x'.repeat(65_536)));
  };
  response.on('drain', more);
  more();
}

test('the endless info of a database is read up to a limit', async () => {
  answer = (_path, response) => endless(response, 200, '{"db_name":"');
  const { code, stderr } = await runCommand(['export', url]);
  expect([code, stderr]).toEqual([1, expect.stringContaining('answered with more than 65536 bytes')]);
});

test.each([404, 500])('of an endless error with status %i the beginning is shown', async (status) => {
  answer = (_path, response) => endless(response, status, 'This is no database. ');
  const { code, stderr } = await runCommand(['export', url]);
  expect([code, stderr]).toEqual([1, expect.stringContaining(`${status} error, This is no database. x`)]);
});

test('of an endless error for an attachment the beginning is shown', async () => {
  answer = (_path, response) => endless(response, 404, 'none ');
  const database = new RemoteDatabase(url);
  await expect(database.readAttachment('a', '1-a', 'b')).rejects.toMatchObject({ status: 404, error: 'error' });
});

test('endless rows about written documents are refused', async () => {
  answer = (_path, response) => endless(response, 201, '[{"id":"');
  const database = new RemoteDatabase(url);
  await expect(database.write([{ text: '{}' }, { text: '{}' }], true)).rejects.toMatchObject({
    reason: expect.stringContaining('more than'),
  });
});
