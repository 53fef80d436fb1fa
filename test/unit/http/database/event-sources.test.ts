/** What feeds send to an EventSource beside their events (docs/http/changes.md#formats-of-feeds). */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemRandom } from '../../../../src/base/shared/clock.ts';
import { type Core, createCore } from '../../../../src/core/core.ts';
import { deferredAtHand } from '../../../../src/core/deferred/deferred-code.ts';
import { createMemoryPageStore } from '../../../../src/storage/memory-page-store.ts';
import { createTestSandbox } from '../../queries/sandbox/quickjs-files.ts';
import { ask, clock, textOf } from '../support.ts';

let core: Core;

beforeEach(async () => {
  const deferred = deferredAtHand(createTestSandbox());
  core = await createCore({ storage: createMemoryPageStore(), clock, random: systemRandom, deferred });
  await ask(core, 'PUT /db');
  await ask(core, 'PUT /db/a', { body: '{}' });
});

afterEach(() => core.close());

const changes = 'GET /db/_changes?feed=eventsource';

test('the changes feed resets the event id when the database is deleted', async () => {
  const text = textOf((await ask(core, `${changes}&since=now`)).body);
  await ask(core, 'DELETE /db');
  // What is made under its name counts from 1 again: whoever went on behind 1 would miss its first change.
  expect(await text).toBe('id: 1\n\nid:\n\n');
});

test.each([
  ['the time is over', '&timeout=10', async () => undefined],
  ['the service ends', '', async () => core.beginShutdown()],
])('the changes feed keeps the event id if %s', async (_, parameters, end) => {
  const text = textOf((await ask(core, `${changes}&since=now${parameters}`)).body);
  await end();
  expect(await text).toBe('id: 1\n\n');
});

test('the feed of database events sends an empty line at once', async () => {
  const text = textOf((await ask(core, 'GET /_db_updates?feed=eventsource&timeout=0.01&heartbeat=false')).body);
  expect(await text).toBe('\n');
});
