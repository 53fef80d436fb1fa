import { afterEach, expect, test } from 'vitest';
import { systemRandom } from '../../../../../src/base/shared/clock.ts';
import { type Core, createCore } from '../../../../../src/core/core.ts';
import { deferredAtHand } from '../../../../../src/core/deferred/deferred-code.ts';
import { createMemoryPageStore } from '../../../../../src/storage/memory-page-store.ts';
import { askJson, clock } from '../../support.ts';

const cores: Core[] = [];

afterEach(async () => {
  for (const core of cores.splice(0)) await core.close();
});

async function open(): Promise<{ readonly core: Core; readonly logged: string[] }> {
  const logged: string[] = [];
  const write = (message: string) => logged.push(message);
  const core = await createCore({
    storage: createMemoryPageStore(),
    clock,
    random: systemRandom,
    log: { error: write, info: write, debug: write },
    deferred: deferredAtHand(),
  });
  cores.push(core);
  return { core, logged };
}

test('the log says that a setting was changed, but never its value', async () => {
  const { core, logged } = await open();
  await askJson(core, 'PUT /_config/svc_httpd_auth/secret', { body: '"s3cr3t"' });
  await askJson(core, 'PUT /_config/oauth_token_secrets/t', { body: '"s3cr3t"' });
  await askJson(core, 'PUT /_config/admins/ada', { body: '"s3cr3t"' });
  await askJson(core, 'PUT /_config/svc/max_dbs_open', { body: '"s3cr3t"' });
  expect(logged.join('\n')).not.toContain('s3cr3t');
  expect(logged).toEqual([
    'setting svc_httpd_auth/secret was changed',
    'setting oauth_token_secrets/t was changed',
    'setting admins/ada was changed',
  ]);
});

test('an empty whitelist lets no one change anything', async () => {
  const { core } = await open();
  const other = await askJson(core, 'PUT /_config/httpd/config_whitelist', { body: '"[{httpd}]"' });
  expect(other).toMatchObject([400, { error: 'bad_request' }]);
  await askJson(core, 'PUT /_config/httpd/config_whitelist', { body: '""' });
  const refused = [400, { error: 'modification_not_allowed', reason: 'This config variable is read-only' }];
  expect(await askJson(core, 'PUT /_config/a/b', { body: '"c"' })).toEqual(refused);
  expect(await askJson(core, 'DELETE /_config/httpd/config_whitelist')).toEqual(refused);
  expect(await askJson(core, 'GET /_config/httpd/config_whitelist')).toEqual([200, '']);
});

test("a new admin's password is hashed with the configured iterations", async () => {
  const { core } = await open();
  await core.config.set('svc_httpd_auth', 'iterations', '177');
  const [, text] = await askJson(core, 'PUT /_config/admins/ada', { body: '"x"' });
  expect(text).toMatch(/^-pbkdf2-[0-9a-f]{40},[0-9a-f]{32},177$/);
});

test("a host that can't reopen the service says so", async () => {
  const { core } = await open();
  expect(await askJson(core, 'POST /_restart')).toEqual([
    501,
    {
      error: 'not_implemented',
      reason: 'This service can not restart itself: the program that opened it must close it and open it again.',
    },
  ]);
});

test.each([
  ['true', 'maintenance_mode'],
  ['nolb', 'nolb'],
])('with maintenance_mode %s _up says so, and everything else is answered', async (mode, status) => {
  const { core } = await open();
  await core.config.set('svc', 'maintenance_mode', mode);
  expect(await askJson(core, 'GET /_up')).toEqual([404, { status }]);
  expect((await askJson(core, 'GET /_all_dbs'))[0]).toBe(200);
});
