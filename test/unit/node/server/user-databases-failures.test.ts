import { afterEach, expect, test, vi } from 'vitest';
import type { PlainRequest } from '../../../../src/base/shared/message.ts';
import type { Core } from '../../../../src/core/core.ts';
import { type ServedCore, UserDatabases } from '../../../../src/node/server/user-databases.ts';
import { patient } from '../../../support/patience.ts';
import { ask, askJson, openCore } from '../../http/support.ts';

const ends: (() => Promise<void>)[] = [];

afterEach(async () => {
  vi.useRealTimers();
  for (const end of ends.splice(0).reverse()) await end();
});

async function open(): Promise<Core> {
  const core = await openCore();
  ends.push(() => core.close());
  await ask(core, 'PUT /_users');
  return core;
}

/** Follows the users. `handle` answers its requests. */
function follow(core: Core, handle: ServedCore['handle'] = (request) => core.handle(request)) {
  const errors: string[] = [];
  const warnings: string[] = [];
  const log = {
    error: (message: string) => errors.push(message),
    warning: (message: string) => warnings.push(message),
    info: () => undefined,
    debug: () => undefined,
  };
  const { registry, config } = core;
  const followed = new UserDatabases({ registry, config, handle }, log);
  ends.push(() => followed.close());
  return { errors, warnings };
}

async function signUp(core: Core, name: string): Promise<void> {
  const body = JSON.stringify({ type: 'user', name, roles: [] });
  expect((await ask(core, `PUT /_users/org.couchdb.user:${name}`, { body })).status).toBe(201);
}

async function deleteUser(core: Core, name: string): Promise<void> {
  const path = `/_users/org.couchdb.user:${name}`;
  const { headers } = await ask(core, `GET ${path}`);
  expect((await ask(core, `DELETE ${path}`, { headers: { 'if-match': headers['etag'] ?? '' } })).status).toBe(200);
}

async function turnOn(core: Core, members: Readonly<Record<string, string>> = {}): Promise<void> {
  for (const [key, value] of Object.entries({ ...members, enable: 'true' }))
    await core.config.set('couch_peruser', key, value);
}

const [ANA, BOB] = ['userdb-616e61', 'userdb-626f62'];

test.for([429, 500, 503, 507])(
  'a user whose database fails with %i gets it later, and stops no others',
  async (status) => {
    const core = await open();
    let isDown = true;
    const asked: string[] = [];
    const { errors } = follow(core, (request: PlainRequest) => {
      asked.push(`${request.method} ${request.url}`);
      const fails = isDown && request.url.includes(ANA);
      return fails ? { status, headers: {}, body: '{"error":"x"}' } : core.handle(request);
    });
    // It exists, so its security object is asked for.
    await ask(core, `PUT /${ANA}`);
    await signUp(core, 'ana');
    await signUp(core, 'bob');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await turnOn(core);
    await vi.waitFor(() => expect(core.registry.has(BOB)).toBe(true), patient);
    await vi.waitFor(() => expect(asked).toEqual([`GET /${ANA}/_security`]), patient);
    await vi.waitFor(async () => {
      await vi.advanceTimersByTimeAsync(5_000);
      expect(asked.length).toBeGreaterThan(1);
    }, patient);
    isDown = false;
    await vi.waitFor(async () => {
      await vi.advanceTimersByTimeAsync(5_000);
      expect(await askJson(core, `GET /${ANA}/_security`)).toEqual([
        200,
        { admins: { names: ['ana'], roles: [] }, members: { names: ['ana'], roles: [] } },
      ]);
    }, patient);
    expect(errors).toEqual([
      `The database ${ANA} of a user can't be given: GET was answered with ${status}: {"error":"x"} The next attempt is in 5 seconds.`,
    ]);
  },
);

test('what failed is tried again after a restart', async () => {
  const core = await open();
  await turnOn(core, { delete_dbs: 'true' });
  const down: ServedCore['handle'] = () => ({ status: 500, headers: {}, body: '' });
  const { errors } = follow(core, down);
  const end = ends.pop();
  await signUp(core, 'ana');
  await vi.waitFor(() => expect(core.registry.has(ANA)).toBe(true), patient);
  await deleteUser(core, 'ana');
  await vi.waitFor(() => expect(errors).toHaveLength(1), patient);
  await signUp(core, 'bob');
  await vi.waitFor(() => expect(core.registry.has(BOB)).toBe(true), patient);
  await end?.();
  follow(core);
  await vi.waitFor(() => expect(core.registry.names()).toEqual(['_users', BOB]), patient);
});

test('a database that was created and secured in between keeps its security object', async () => {
  const core = await open();
  const security = { admins: { names: ['bob'], roles: [] }, members: { names: ['bob'], roles: ['r'] } };
  const { registry } = core;
  const create = registry.createByWriting.bind(registry);
  vi.spyOn(registry, 'createByWriting').mockImplementationOnce(async (name, write) => {
    await ask(core, `PUT /${ANA}`);
    await ask(core, `PUT /${ANA}/_security`, { body: JSON.stringify(security) });
    return create(name, write);
  });
  await signUp(core, 'ana');
  await turnOn(core);
  follow(core);
  await vi.waitFor(async () => {
    expect(await askJson(core, `GET /${ANA}/_security`)).toEqual([
      200,
      { admins: { names: ['ana', 'bob'], roles: [] }, members: { names: ['ana', 'bob'], roles: ['r'] } },
    ]);
  }, patient);
});

test('the log warns of a database that the user is added to, unless it was that of a former user', async () => {
  const core = await open();
  for (const name of [ANA, BOB]) await ask(core, `PUT /${name}`);
  const nobodys = { admins: { names: [], roles: ['_admin'] }, members: { names: [], roles: ['_admin'] } };
  await ask(core, `PUT /${BOB}/_security`, { body: JSON.stringify(nobodys) });
  for (const name of ['ana', 'bob', 'eve']) await signUp(core, name);
  await turnOn(core);
  const { warnings } = follow(core);
  await vi.waitFor(() => expect(core.registry.has('userdb-657665')).toBe(true), patient);
  // Again for all of them, who are named now.
  await core.config.set('couch_peruser', 'enable', 'false');
  await turnOn(core);
  await signUp(core, 'tom');
  await vi.waitFor(() => expect(core.registry.has('userdb-746f6d')).toBe(true), patient);
  expect(warnings).toEqual([
    `The database ${ANA} existed and was not its user's; now the user of that name is an admin and a member of it. If it is for something else, take the name out of its security object, and set another couch_peruser/database_prefix.`,
  ]);
});
