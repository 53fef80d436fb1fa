import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Core } from '../../../src/core/core.ts';
import type { Credentials } from '../../../src/replication/contract.ts';
import { PasswordAuthorization } from '../../../src/replication/peers/client/authorization.ts';
import { NodeHost } from '../../support/conformance/node-host.ts';
import { begin, hostOf, local, must, newCore, remote, replicationOf, treesOf } from './support.ts';

const PASSWORD: Credentials = { kind: 'password', name: 'ana', password: 'hidden' };
const OAUTH: Credentials = {
  kind: 'oauth',
  consumerKey: 'app',
  consumerSecret: 'of app',
  token: 'phone',
  tokenSecret: 'of phone',
  signatureMethod: 'HMAC-SHA1',
};

const SETTINGS = {
  admins: { ana: 'hidden' },
  svc_httpd_auth: { iterations: '10', min_iterations: '1' },
  oauth_consumer_secrets: { app: 'of app' },
  oauth_token_secrets: { phone: 'of phone' },
  oauth_token_users: { phone: 'ana' },
};

let core: Core;
let server: NodeHost;
/** Each request to the server: its method and path, and by what it said who sends it. */
let asked: string[];

beforeEach(async () => {
  [core, server] = await Promise.all([newCore(), NodeHost.start(SETTINGS)]);
  asked = [];
  await must(core, 'PUT /db');
  await must(core, 'POST /db/_bulk_docs', { docs: Array.from({ length: 60 }, (_, n) => ({ _id: `d${n}`, n })) });
});
afterEach(() => Promise.all([core.close(), server.close()]));

type Fetch = typeof globalThis.fetch;

/** Lets each request through after `before`, whose answer takes the place of the server's. */
function watched(before: (path: string) => Promise<Response | undefined> = async () => undefined): Fetch {
  return async (input, init) => {
    const path = String(input).slice(server.baseUrl.length).replace(/\?.*$/, '');
    const headers = new Headers(init?.headers);
    const by = headers.has('cookie') ? 'session' : (headers.get('authorization') ?? 'nothing').split(' ')[0];
    asked.push(`${init?.method} ${path} ${by}`);
    return (await before(path)) ?? fetch(input, init);
  };
}

async function push(credentials: Credentials, fetch: Fetch): Promise<void> {
  const target = remote(`${server.baseUrl}/there`, { credentials });
  const options = { createTarget: true, batchSize: 10, workers: 1, connections: 1 };
  const attempt = begin(hostOf(core.handle, { fetch }), replicationOf(local('db'), target, options));
  await attempt.result;
  expect(attempt.refused).toEqual([]);
  // Back over another connection, for the comparison.
  await must(core, 'PUT /back');
  const source = remote(`${server.baseUrl}/there`, { credentials });
  await begin(hostOf(core.handle), replicationOf(source, local('back')), 'back').result;
  expect(await treesOf(core, 'back')).toEqual(await treesOf(core, 'db'));
}

const withBasic = () => asked.filter((line) => line.endsWith(' Basic'));
const sessions = () => asked.filter((line) => line === 'POST /_session nothing');

/** So that nobody else may write it. */
async function makeTarget(): Promise<void> {
  await mustServer('PUT', '/there');
  await mustServer('PUT', '/there/_security', { members: { names: ['ana'], roles: [] } });
}

describe('a name and a password', () => {
  test('are sent with three requests, and then a session is used', async () => {
    await push(PASSWORD, watched());
    expect(asked.slice(0, 4)).toEqual([
      'GET /there Basic',
      'PUT /there Basic',
      'GET /there Basic',
      'POST /_session nothing',
    ]);
    expect(withBasic()).toHaveLength(3);
    expect(sessions()).toHaveLength(1);
    expect(asked.at(-1)).toMatch(/ session$/);
  });

  test('start another session if the first one ends halfway', async () => {
    await makeTarget();
    let writes = 0;
    let ended: unknown;
    const endSessions = async (path: string) => {
      if (path === '/there/_bulk_docs' && ++writes === 3) {
        // It signs the cookies.
        ended = await mustServer('PUT', '/_config/svc_httpd_auth/secret', 'another');
      }
      return undefined;
    };
    await push(PASSWORD, watched(endSessions));
    expect(ended).toBe(200);
    // Six batches, one of which was refused at first.
    expect(writes).toBe(7);
    expect(sessions().length).toBeGreaterThan(1);
    expect(withBasic()).toHaveLength(3);
  });

  test('are sent with each request to a peer that has no sessions', async () => {
    const hasNone = async (path: string) => (path === '/_session' ? new Response('{}', { status: 404 }) : undefined);
    await push(PASSWORD, watched(hasNone));
    expect(sessions()).toHaveLength(1);
    expect(withBasic()).toHaveLength(asked.length - 1);
  });

  test('are replaced by the cookie of the latest response', async () => {
    const one = async () => ['AuthSession=one; HttpOnly'];
    const authorization = new PasswordAuthorization('ana', 'hidden', one, () => 0);
    authorization.takeCookies(['AuthSession=of nobody']);
    expect(await authorization.headersFor()).toEqual({ authorization: 'Basic YW5hOmhpZGRlbg==' });
    expect(await authorization.renew()).toBe(true);
    expect(await authorization.headersFor()).toEqual({ cookie: 'AuthSession=one' });
    authorization.takeCookies(['other=x', 'AuthSession=two; Path=/']);
    expect(await authorization.headersFor()).toEqual({ cookie: 'AuthSession=two' });
    authorization.takeCookies(['AuthSession=; Max-Age=0']);
    expect(await authorization.headersFor()).toEqual({ cookie: 'AuthSession=two' });
  });

  test('start another session before one expires', async () => {
    let now = 0;
    let begun = 0;
    const newSession = (attributes: string) => async () => [`AuthSession=${++begun}${attributes}`];
    for (const [attributes, usedMs] of [
      ['', 240_000],
      ['; Version=1; Max-Age=60; Path=/', 30_000],
    ] as const) {
      begun = 0;
      const authorization = new PasswordAuthorization('ana', 'hidden', newSession(attributes), () => now);
      await authorization.renew();
      now += usedMs;
      expect(await authorization.headersFor()).toEqual({ cookie: 'AuthSession=1' });
      authorization.takeCookies([`AuthSession=kept${attributes}`]);
      now += usedMs;
      expect(await authorization.headersFor()).toEqual({ cookie: 'AuthSession=kept' });
      now += 1;
      expect(await authorization.headersFor()).toEqual({ cookie: 'AuthSession=2' });
      now -= 1;
      expect(await authorization.headersFor()).toEqual({ cookie: 'AuthSession=3' });
    }
  });
});

test('requests are signed with OAuth', async () => {
  await push(OAUTH, watched());
  expect(asked.filter((line) => !line.endsWith(' OAuth'))).toEqual([]);
  expect(asked.length).toBeGreaterThan(10);
});

async function mustServer(method: string, path: string, body?: unknown): Promise<number> {
  const headers = { authorization: `Basic ${btoa('ana:hidden')}`, 'content-type': 'application/json' };
  const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
  const answer = await fetch(`${server.baseUrl}${path}`, init);
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status}`);
  return answer.status;
}
