import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import { afterAll, assert, beforeAll, beforeEach, describe, test } from 'vitest';
import { basic } from '../support/conformance/accounts.ts';
import { arrayAt, at } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';

/**
 * The server replicates for whoever asks, from its own place in the network. Behind a proxy that authenticates, as docs/node.md describes it, this
 * gives nobody what only the proxy may say, nor what only this machine reaches.
 */
const timeout = 120_000;
const ROOT = basic('root', 'rootpw');
const CLAIM = { 'X-Auth-Svc-UserName': 'x', 'X-Auth-Svc-Roles': '_admin' };
const SECRET = 'token=INNERSECRET';
const GUESSES = 60;
/** Five tries are free; then one second has to pass, then two. */
const MAX_CHECKED = 9;

let server: AttackedServer;
/** A server of the attacker, and one that only this machine reaches. */
let attacker: TestPeer;
let inner: TestPeer;
/** One that users may name. */
let permitted: TestPeer;

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

class TestPeer {
  readonly seen: Seen[] = [];
  answer: RequestListener = (_request, response) =>
    response.writeHead(404).end('{"error":"not_found","reason":"missing"}');
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<TestPeer> {
    const peer: TestPeer = new TestPeer(
      createServer((request: IncomingMessage, response) => {
        const { method = '', url = '', headers } = request;
        peer.seen.push({ method, url, headers });
        request.resume();
        peer.answer(request, response);
      }),
    );
    peer.#server.listen(0, '127.0.0.1');
    await once(peer.#server, 'listening');
    return peer;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  /** Sends all of its clients to another server, with what they sent. */
  redirectTo(base: string): void {
    this.answer = ({ url }, response) =>
      response.writeHead(307, { location: `${base}${url?.replace(/^\/[^/?]*/, '')}` }).end();
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

beforeAll(async () => {
  attacker = await TestPeer.start();
  inner = await TestPeer.start();
  permitted = await TestPeer.start();
  const allowedHosts = `127.0.0.1:${attacker.port},127.0.0.1:${permitted.port}`;
  server = await AttackedServer.start({
    settings: [
      ...['admins/root=rootpw', 'httpd/trusted_proxies=127.0.0.1,::1', 'replicator/retries_per_request=0'],
      ...['httpd/authentication_handlers=cookie,proxy,default', `replicator/allowed_hosts=${allowedHosts}`],
      'vhosts/app.example=/',
    ],
  });
  const { client } = server;
  await client.must(201, 'PUT', '/priv', { headers: ROOT });
  await client.must(200, 'PUT', '/priv/_security', { headers: ROOT, json: { members: { names: ['ana'], roles: [] } } });
  await client.must(201, 'PUT', '/priv/doc', { headers: ROOT, json: { secret: SECRET } });
  await client.must([201, 412], 'PUT', '/_users', { headers: ROOT });
  await client.must(201, 'PUT', '/_users/org.couchdb.user:ana', {
    headers: ROOT,
    json: { name: 'ana', password: 'ana', roles: [], type: 'user' },
  });
});

beforeEach(async () => {
  attacker.seen.length = 0;
  inner.seen.length = 0;
  inner.answer = (_request, response) => response.writeHead(500).end(JSON.stringify({ error: 'x', reason: SECRET }));
  await server.client.ask('DELETE', '/pub', { headers: ROOT });
  await server.client.must(201, 'PUT', '/pub', { headers: ROOT });
});

afterAll(async () => {
  attacker?.close();
  inner?.close();
  permitted?.close();
  await server?.remove();
});

async function replicate(json: object, headers: Readonly<Record<string, string>> = {}) {
  const { status, text } = await server.client.ask('POST', '/_replicate', { json, headers });
  return { status, text };
}

/** How many documents the public database has: what the attacker got. */
async function got(): Promise<number> {
  return Number(at((await server.client.must(200, 'GET', '/pub', { headers: ROOT })).json, 'doc_count'));
}

function tell(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Names under which the server may be asked. */
function ownNames(): readonly string[] {
  const { port } = server.url;
  const hosts = [
    '127.0.0.1',
    'localhost',
    'LOCALHOST.',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '0.0.0.0',
    '[::ffff:127.0.0.1]',
    'app.example',
  ];
  return hosts.map((host) => `http://${host}:${port}`);
}

describe('a replication with headers that only proxies may send', () => {
  const names = [
    ...['X-Auth-Svc-UserName', 'x-auth-couchdb-roles', 'X_Auth_Svc_Roles', 'X-Forwarded-For', 'Forwarded', 'X-Real-IP'],
    ...[
      'X-Authentik-Username',
      'X-Consumer-Username',
      'X-Webauth-User',
      'X-MS-Client-Principal-Name',
      'CF-Connecting-IP',
    ],
    ...[
      'Via',
      'Host',
      'Proxy-Authorization',
      'Connection',
      'Transfer-Encoding',
      'Content-Length',
      'X-Http-Method-Override',
    ],
  ];

  test('is refused by name, whoever requests it and whatever its peer', { timeout }, async () => {
    for (const name of names) {
      for (const url of [`${server.url.origin}/priv`, `http://127.0.0.1:${attacker.port}/db`, 'http://192.0.2.1/db']) {
        const { status, text } = await replicate({ source: { url, headers: { [name]: '_admin' } }, target: 'pub' });
        assert.equal(status, 400, text);
        assert.include(text, name);
      }
    }
    assert.equal(await got(), 0);
    assert.deepEqual(attacker.seen, []);
    tell(`headers of proxies: ${names.length} names refused, ${await got()} documents got`);
  });

  test('is refused in documents as well', { timeout }, async () => {
    await server.client.must([201, 412], 'PUT', '/_replicator', { headers: ROOT });
    const ana = basic('ana', 'ana');
    const json = {
      source: { url: `${server.url.origin}/priv`, headers: CLAIM },
      target: 'pub',
      user_ctx: { name: 'ana', roles: [] },
    };
    await server.client.must(201, 'PUT', '/_replicator/claim', { headers: ana, json });
    let document: unknown;
    do {
      document = (await server.client.must(200, 'GET', '/_replicator/claim', { headers: ROOT })).json;
    } while (at(document, '_replication_state') !== 'error');
    assert.include(`${at(document, '_replication_state_reason')}`, 'X-Auth-Svc-UserName');
    assert.equal(await got(), 0);
  });
});

describe('a replication with this server as its peer', () => {
  test('has the rights of its user, whatever name the server is called by', { timeout }, async () => {
    for (const base of ownNames()) {
      for (const headers of [{}, { 'x-note': 'not what it seems' }]) {
        const { status, text } = await replicate({ source: { url: `${base}/priv`, headers }, target: 'pub' });
        assert.notEqual(status, 200, `${base}: ${text}`);
        assert.notInclude(text, SECRET);
        const created = await replicate({
          source: 'pub',
          target: { url: `${base}/made`, headers },
          create_target: true,
        });
        assert.notEqual(created.status, 200, `${base}: ${created.text}`);
      }
    }
    assert.equal(await got(), 0);
    tell(`the server by ${ownNames().length} names of its own, anonymous: ${await got()} documents got`);
  });

  test("accepts credentials of the user, under the server's own names", { timeout }, async () => {
    const auth = { basic: { username: 'ana', password: 'ana' } };
    const url = `${server.url.origin}/priv`;
    const { status, text } = await replicate({
      source: { url, auth },
      target: { url: `${server.url.origin}/pub`, auth },
    });
    assert.equal(status, 200, text);
    assert.equal(await got(), 1);
  });

  test("slows down guessing passwords through it, at the client's address", { timeout }, async () => {
    const from = { 'x-forwarded-for': '203.0.113.77' };
    const guess = (password: string, headers: Readonly<Record<string, string>>) => {
      const auth = { basic: { username: 'root', password } };
      return replicate({ source: { url: `${server.url.origin}/priv`, auth }, target: 'absent' }, headers);
    };
    let checked = 0;
    for (let n = 0; n < GUESSES; n++) {
      const { text } = await guess(`guess ${n}`, from);
      if (!text.includes('Too many log-ins')) checked++;
    }
    tell(`guesses by the server itself: ${checked} of ${GUESSES} were checked`);
    assert.isAtMost(checked, MAX_CHECKED);
    // Who is elsewhere is not held up: the password is right, what is not there is the target.
    assert.include((await guess('rootpw', { 'x-forwarded-for': '198.51.100.3' })).text, 'absent');
  });

  test('fails if its peer redirects it to this server, also for an admin', { timeout }, async () => {
    attacker.redirectTo(`${server.url.origin}/priv`);
    const url = `http://127.0.0.1:${attacker.port}/db`;
    for (const [source, headers] of [
      [{ url }, {}],
      [{ url, headers: CLAIM }, ROOT],
      [{ url, auth: { basic: { username: 'root', password: 'rootpw' } } }, ROOT],
    ] as const) {
      const { status, text } = await replicate({ source, target: 'pub' }, headers);
      assert.equal(status, 500, text);
      assert.include(text, 'this server itself');
      assert.notInclude(text, SECRET);
    }
    assert.isNotEmpty(attacker.seen);
    assert.equal(await got(), 0);
    tell(`redirections to the server: ${attacker.seen.length} followed, ${await got()} documents got`);
  });
});

describe('headers and credentials of a replication', () => {
  test('are not sent to another origin after a redirection', { timeout }, async () => {
    attacker.redirectTo(`http://127.0.0.1:${permitted.port}/db`);
    permitted.seen.length = 0;
    const source = {
      url: `http://127.0.0.1:${attacker.port}/db`,
      headers: { 'X-Api-Key': 'key', Cookie: 'AuthSession=x' },
      auth: { basic: { username: 'joe', password: 'joepw' } },
    };
    await replicate({ source, target: 'pub' }, ROOT);
    assert.isNotEmpty(permitted.seen);
    assert.deepInclude(attacker.seen[0]?.headers, { 'x-api-key': 'key', authorization: 'Basic am9lOmpvZXB3' });
    const taken = permitted.seen.filter(
      ({ headers }) => headers['x-api-key'] ?? headers.authorization ?? headers.cookie,
    );
    assert.deepEqual(taken, []);
    tell(`redirections elsewhere: ${permitted.seen.length} followed, ${taken.length} with headers or credentials`);
  });
});

describe('an address that only this machine can reach', () => {
  /** Anonymous, with what it was answered, without the address in it. */
  async function reason(json: object): Promise<string> {
    const { status, text } = await replicate(json);
    assert.oneOf(status, [400, 500], text);
    assert.notInclude(text, SECRET);
    return `${status} ${text.replace(/https?:\/\/[^\s"\\]+/g, 'URL')}`;
  }

  test('is not requested for a user', { timeout }, async () => {
    const hosts = [
      '127.0.0.1',
      'localhost',
      'x.localhost',
      '2130706433',
      '0x7f000001',
      '017700000001',
      '127.1',
      '0.0.0.0',
    ];
    const mapped = ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::1]', '[::]', '[64:ff9b::7f00:1]'];
    for (const host of [...hosts, ...mapped]) {
      const url = `http://${host}:${inner.port}/db`;
      for (const json of [
        { source: url, target: 'pub' },
        { source: 'pub', target: url, create_target: true },
        { source: 'http://192.0.2.1/db', target: 'pub', proxy: `http://${host}:${inner.port}` },
        { source: 'http://192.0.2.1/db', target: 'pub', source_proxy: `socks5://${host}:${inner.port}` },
      ]) {
        await reason(json);
      }
    }
    attacker.redirectTo(`http://127.0.0.1:${inner.port}/db`);
    await reason({ source: `http://127.0.0.1:${attacker.port}/db`, target: 'pub' });
    assert.isNotEmpty(attacker.seen);
    tell(
      `addresses of this machine: ${hosts.length + mapped.length} spellings, ${inner.seen.length} requests reached the inner server`,
    );
    assert.deepEqual(inner.seen, []);
  });

  test('is not requested after a redirection for an admin either', { timeout }, async () => {
    attacker.redirectTo(`http://127.0.0.1:${inner.port}/db`);
    const { status, text } = await replicate({ source: `http://127.0.0.1:${attacker.port}/db`, target: 'pub' }, ROOT);
    assert.equal(status, 500, text);
    assert.include(text, `redirects to http://127.0.0.1:${inner.port}`);
    assert.include(text, 'replicator/allowed_hosts');
    assert.deepEqual(inner.seen, []);
  });

  test('can be requested by admins', { timeout }, async () => {
    const { text } = await replicate({ source: `http://127.0.0.1:${inner.port}/db`, target: 'pub' }, ROOT);
    assert.include(text, SECRET);
    assert.isNotEmpty(inner.seen);
  });

  test('returns none of its text where it is permitted', { timeout }, async () => {
    attacker.answer = inner.answer;
    const told = await reason({ source: `http://127.0.0.1:${attacker.port}/db`, target: 'pub' });
    assert.match(told, /answered GET with 500/);
    assert.isNotEmpty(attacker.seen);
  });

  test('looks the same as a closed port', { timeout }, async () => {
    const { port } = attacker;
    attacker.close();
    const closed = await reason({ source: `http://127.0.0.1:${port}/db`, target: 'pub' });
    const unknown = await reason({ source: 'http://no-such-host.invalid/db', target: 'pub' });
    assert.equal(closed, unknown);
    tell(`closed port and unknown name: ${closed.slice(0, 200)}`);
  });
});

test('an anonymous client behind the proxy is not an admin', async () => {
  const { json } = await server.client.must(200, 'GET', '/_session', { headers: { 'x-forwarded-for': '203.0.113.5' } });
  assert.isEmpty(arrayAt(json, 'userCtx', 'roles'));
});
