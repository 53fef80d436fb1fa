import { afterAll, assert, beforeAll, describe, test } from 'vitest';
import { basic } from '../support/conformance/accounts.ts';
import { AttackedServer } from './support/attacked-server.ts';

/**
 * Headers in forms that a proxy in front may pass on unread: none of them makes anybody somebody else. The server believes a proxy at
 * 192.0.2.1, which none of these requests comes from.
 */
const ROOT = basic('root', 'secret of root');
const PASSWORD = `Authorization: ${ROOT['authorization']}`;
const PROXIED = 'X-Auth-Svc-UserName: root\r\nX-Auth-Svc-Roles: _admin';
let server: AttackedServer;

beforeAll(async () => {
  const settings = [
    ...['admins/root=secret of root', 'httpd/trusted_proxies=192.0.2.1'],
    'httpd/authentication_handlers=oauth, cookie, proxy, default',
  ];
  server = await AttackedServer.start({ settings });
  await server.client.must(201, 'PUT', '/db', { headers: ROOT });
  const security = { members: { names: ['nobody'] } };
  await server.client.must(200, 'PUT', '/db/_security', { headers: ROOT, json: security });
});

afterAll(() => server.remove());

function ask(target: string, ...lines: readonly string[]): Promise<string> {
  return server.client.sendRaw([`GET ${target} HTTP/1.1`, 'Connection: close', ...lines, '', ''].join('\r\n'));
}

const HOST = 'Host: localhost';

const others: readonly (readonly [string, readonly string[]])[] = [
  ['what a proxy says, from somebody else', [HOST, PROXIED]],
  ['and under the original names', [HOST, PROXIED.replaceAll('Svc', 'CouchDB')]],
  ['with underscores, as some proxies let pass', [HOST, PROXIED.replace(/X-Auth-Svc-/g, 'X_Auth_Svc_')]],
  ['with who is believed named as the sender', [HOST, PROXIED, 'X-Forwarded-For: 192.0.2.1']],
  ['with who is believed named in Forwarded', [HOST, PROXIED, 'Forwarded: for=192.0.2.1']],
  ['a password in a header that goes on in the next line', [HOST, `X-Note: a\r\n ${PASSWORD}`]],
  ['a password behind a line feed alone', [HOST, `X-Note: a\n${PASSWORD}`]],
  ['a password behind a carriage return alone', [HOST, `X-Note: a\r${PASSWORD}`]],
  ['a password in a header with white space before its colon', [HOST, PASSWORD.replace(':', ' :')]],
  ['a password in a header named by a zero byte', [HOST, PASSWORD.replace(':', '\0:')]],
  ['a wrong password before a right one', [HOST, 'Authorization: Basic cm9vdDp4', PASSWORD]],
  ['a session behind a comma, in one that is none', [HOST, 'Cookie: a=b, AuthSession=cm9vdDo2NkE6']],
  ['a user in a header', [HOST, 'User: {"name":"root","roles":["_admin"]}']],
  ['two hosts', [HOST, 'Host: root@localhost']],
  ['a name and a password in the host', ['Host: root:secret%20of%20root@localhost']],
];

describe.for(['/_config', '/db', '/db/_security'])('access to %s', (target) => {
  test.for(others)('is refused for %s', async ([, lines]) => {
    const answer = await ask(target, ...lines);
    assert.match(answer, /^HTTP\/1\.1 4\d\d /, answer.slice(0, 500));
  });

  test('is refused for the name of another host in the request target', async () => {
    assert.match(await ask(`http://root:secret%20of%20root@localhost${target}`, HOST), /^HTTP\/1\.1 4\d\d /);
  });

  test('is refused for data after a chunked body', async () => {
    const head = `POST ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-HTTP-Method-Override: GET\r\n`;
    const trailers = `Trailer: Authorization\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${PASSWORD}\r\n${PROXIED}\r\n\r\n`;
    assert.match(await server.client.sendRaw(head + trailers), /^HTTP\/1\.1 4\d\d /);
  });

  test('is granted with the password', async () => {
    assert.match(await ask(target, HOST, PASSWORD), /^HTTP\/1\.1 200 /);
  });
});
