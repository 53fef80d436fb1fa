import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, type ServerOptions, startServer } from '../../../../src/node/server/server.ts';
import { databaseOfUser, NEW_SECURITY, withoutUser, withUser } from '../../../../src/node/server/user-security.ts';
import { patient } from '../../../support/patience.ts';
import { newSchema, postgresUrl } from '../../../support/postgres/postgres.ts';

let temporary = '';
const running: RunningServer[] = [];

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'settee-per-user-'));
});

afterAll(() => rm(temporary, { recursive: true }));

afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
});

const ROOT = `Basic ${btoa('root:secret')}`;
const ANA = 'userdb-616e61';
const OWN = { admins: { names: ['ana'], roles: ['_admin'] }, members: { names: ['ana'], roles: ['_admin'] } };

class Client {
  readonly #url: string;

  constructor(server: RunningServer) {
    this.#url = server.url;
  }

  async send(method: string, path: string, body?: unknown, authorization = ROOT) {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { authorization, 'content-type': 'application/json' };
    const response = await fetch(`${this.#url}${path}`, { method, headers, ...content });
    return { status: response.status, json: JSON.parse(await response.text()) };
  }

  async signUp(name: string): Promise<void> {
    const user = { type: 'user', name, roles: [], password: `secret of ${name}` };
    expect((await this.send('PUT', `_users/org.couchdb.user:${name}`, user)).status).toBe(201);
  }

  /** As `signUp`, while servers of a cluster change places. */
  async signUpLater(name: string): Promise<void> {
    const user = { type: 'user', name, roles: [], password: `secret of ${name}` };
    const path = `_users/org.couchdb.user:${name}`;
    // What was answered with 503 may have been written.
    await expect
      .poll(async () => (await this.send('PUT', path, user)).status, patient)
      .toSatisfy((status) => status === 201 || status === 409);
  }

  async deleteUser(name: string): Promise<void> {
    const path = `_users/org.couchdb.user:${name}`;
    const { _rev } = (await this.send('GET', path)).json;
    expect((await this.send('DELETE', `${path}?rev=${_rev}`)).status).toBe(200);
  }

  async set(name: string, value: string): Promise<void> {
    expect((await this.send('PUT', `_config/${name}`, value)).status).toBe(200);
  }

  securityOf(database: string) {
    return this.send('GET', `${database}/_security`);
  }

  /** Waits until the databases of users are these, and each other one has been looked at. */
  async databases(...names: readonly string[]): Promise<void> {
    await expect.poll(async () => (await this.send('GET', '_all_dbs')).json, patient).toEqual(['_users', ...names]);
  }
}

async function start(
  options: ServerOptions = {},
): Promise<{ readonly server: RunningServer; readonly client: Client }> {
  const dataFolder = options.dataFolder ?? (await mkdtemp(join(temporary, 'data-')));
  const config = { admins: { root: 'secret' }, ...options.config };
  const server = await startServer({ port: 0, logLevel: 'none', ...options, dataFolder, config });
  running.push(server);
  const client = new Client(server);
  await client.send('PUT', '_users');
  return { server, client };
}

const on = { couch_peruser: { enable: 'true' } };

describe('a database per user', () => {
  test('is created with the user, for whom alone it is', async () => {
    const { client } = await start({ config: on });
    await client.signUp('ana');
    await client.signUp('bob');
    await client.databases(ANA, 'userdb-626f62');
    expect((await client.securityOf(ANA)).json).toEqual(OWN);
    const [ana, bob] = ['ana', 'bob'].map((name) => `Basic ${btoa(`${name}:secret of ${name}`)}`);
    expect((await client.send('PUT', `${ANA}/a`, {}, ana)).status).toBe(201);
    expect((await client.send('PUT', `${ANA}/_design/d`, {}, ana)).status).toBe(201);
    expect((await client.send('GET', `${ANA}/a`, undefined, bob)).status).toBe(401);
  });

  test('is created for users who are there already, and after a restart for those of whom nothing is known yet', async () => {
    const dataFolder = await mkdtemp(join(temporary, 'data-'));
    const first = await start({ dataFolder });
    await first.client.signUp('ana');
    await first.client.signUp('bob');
    await first.client.deleteUser('bob');
    // An older database of a deleted user is none of its business.
    expect((await first.client.send('PUT', 'userdb-626f62')).status).toBe(201);
    await first.client.databases('userdb-626f62');
    await first.server.close();
    const config = { couch_peruser: { enable: 'true', delete_dbs: 'true' } };
    const { client, server } = await start({ dataFolder, config });
    await client.databases(ANA, 'userdb-626f62');
    await server.close();
    const off = await start({ dataFolder });
    await off.client.signUp('eve');
    await off.client.databases(ANA, 'userdb-626f62');
    await off.server.close();
    const again = await start({ dataFolder, config });
    await again.client.databases(ANA, 'userdb-626f62', 'userdb-657665');
    expect((await again.client.securityOf('userdb-626f62')).json).toEqual({});
  });

  test('stays without its user, for server admins only, unless the setting says that it is deleted', async () => {
    const { client } = await start({ config: on });
    await client.signUp('ana');
    await client.databases(ANA);
    await client.deleteUser('ana');
    const nobodys = { admins: { names: [], roles: ['_admin'] }, members: { names: [], roles: ['_admin'] } };
    await expect.poll(async () => (await client.securityOf(ANA)).json, patient).toEqual(nobodys);
    await client.set('couch_peruser/delete_dbs', 'true');
    await client.signUp('bob');
    await client.databases(ANA, 'userdb-626f62');
    await client.deleteUser('bob');
    await client.databases(ANA);
  });

  test('that exists gets its user, and keeps the others that are named in it', async () => {
    const { client } = await start();
    const security = { admins: { names: ['old'], roles: [] }, readers: { names: ['bob'], roles: ['r'] }, note: 1 };
    expect((await client.send('PUT', ANA)).status).toBe(201);
    expect((await client.send('PUT', `${ANA}/_security`, security)).status).toBe(200);
    await client.signUp('ana');
    await client.set('couch_peruser/enable', 'true');
    await expect
      .poll(async () => (await client.securityOf(ANA)).json, patient)
      .toEqual({
        note: 1,
        admins: { names: ['ana', 'old'], roles: [] },
        members: { names: ['ana', 'bob'], roles: ['r'] },
      });
  });

  test('has another name with another prefix, and none for a name that is too long, which stops no others', async () => {
    const { client } = await start({ config: on });
    await client.signUp('x'.repeat(116));
    await client.signUp('ana');
    await client.databases(ANA);
    await client.set('couch_peruser/database_prefix', 'home-of/');
    await client.databases('home-of/616e61', ANA);
  });

  test('is not created if that is off', async () => {
    const { client } = await start();
    await client.signUp('ana');
    await client.set('couch_peruser/enable', 'true');
    await client.databases(ANA);
    await client.set('couch_peruser/enable', 'false');
    await client.signUp('bob');
    await client.set('couch_peruser/database_prefix', 'later-');
    await client.set('couch_peruser/enable', 'true');
    await client.databases('later-616e61', 'later-626f62', ANA);
  });

  test('is left to users who are deleted while that is off', async () => {
    const dataFolder = await mkdtemp(join(temporary, 'data-'));
    const { client, server } = await start({ dataFolder });
    for (const name of ['enable', 'delete_dbs']) await client.set(`couch_peruser/${name}`, 'true');
    for (const name of ['ana', 'bob']) await client.signUp(name);
    await client.databases(ANA, 'userdb-626f62');
    await client.set('couch_peruser/enable', 'false');
    await client.deleteUser('ana');
    await client.set('couch_peruser/enable', 'true');
    await client.signUp('eve');
    await client.databases(ANA, 'userdb-626f62', 'userdb-657665');
    await server.close();
    const off = await start({ dataFolder, config: { couch_peruser: { enable: 'false' } } });
    await off.client.deleteUser('bob');
    await off.server.close();
    const again = await start({ dataFolder });
    await again.client.signUp('tom');
    await again.client.databases(ANA, 'userdb-626f62', 'userdb-657665', 'userdb-746f6d');
    await again.client.deleteUser('eve');
    await again.client.databases(ANA, 'userdb-626f62', 'userdb-746f6d');
  });
});

const url = await postgresUrl();

// A contributor may have no PostgreSQL; in CI `postgresUrl` fails in place of returning undefined.
test.skipIf(url === undefined)(
  'one server of several gives users their databases, and another one goes on',
  async () => {
    const storage = newSchema(url ?? '');
    const config = { admins: { root: 'secret' }, ...on };
    const options = { storage, cluster: true, port: 0, host: '127.0.0.1', logLevel: 'none', config } as const;
    const first = await startServer(options);
    running.push(first);
    const second = await startServer(options);
    running.push(second);
    const [one, other] = [new Client(first), new Client(second)];
    await expect.poll(async () => (await other.send('GET', '_up')).status, patient).toBe(200);
    await one.send('PUT', '_users');
    const names = Array.from({ length: 12 }, (_, n) => `user${n}`);
    const databases = names.map((name) => databaseOfUser('userdb-', name)).sort();
    // Of these each server owns some.
    for (const [n, name] of names.slice(0, 10).entries()) await (n % 2 === 0 ? one : other).signUp(name);
    await other.databases(...databases.filter((name) => !/(?:3130|3131)$/.test(name)));
    for (const name of names.slice(0, 10)) {
      const { members } = (await other.securityOf(databaseOfUser('userdb-', name))).json;
      expect(members).toEqual({ names: [name], roles: ['_admin'] });
    }
    await one.deleteUser('user3');
    await expect
      .poll(async () => (await other.securityOf(databaseOfUser('userdb-', 'user3'))).json.members.names, patient)
      .toEqual([]);
    await first.close();
    running.shift();
    await expect.poll(async () => (await other.send('GET', '_up')).status, patient).toBe(200);
    for (const name of names.slice(10)) await other.signUpLater(name);
    await other.databases(...databases);
  },
  180_000,
);

test('settings that no name can begin with are refused', async () => {
  const { client } = await start();
  for (const value of ['', '_x', 'Users-', '1', 'x'.repeat(101)]) {
    expect(await client.send('PUT', '_config/couch_peruser/database_prefix', value)).toMatchObject({
      status: 400,
      json: {
        reason: expect.stringMatching(/^Setting couch_peruser\/database_prefix can't begin the name of a database/),
      },
    });
  }
  expect((await client.send('PUT', '_config/couch_peruser/enable', 'yes')).status).toBe(400);
});

test.for([
  ['ana', 'userdb-616e61'],
  ['é\n', 'userdb-c3a90a'],
] as const)('the database of %j has the name %s', ([user, name]) => {
  expect(databaseOfUser('userdb-', user)).toBe(name);
});

test('a security object is changed only where it names the user', () => {
  const own = withUser(NEW_SECURITY, 'ana');
  expect(own).toBe(JSON.stringify(OWN));
  expect(withUser(own ?? '', 'ana')).toBeUndefined();
  expect(withoutUser(own ?? '', 'bob')).toBeUndefined();
  expect(withoutUser(own ?? '', 'ana')).toBe(NEW_SECURITY);
  expect(withoutUser('{"members":{"names":["ana"]}}', 'ana')).toBe(
    '{"members":{"names":[],"roles":["_admin"]},"admins":{"names":[],"roles":[]}}',
  );
});
