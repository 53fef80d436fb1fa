import { describe, expect, test } from 'vitest';
import { systemRandom } from '../../../../src/base/shared/clock.ts';
import { followInteger } from '../../../../src/base/system/config.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import { createCore } from '../../../../src/core/core.ts';
import { deferredAtHand } from '../../../../src/core/deferred/deferred-code.ts';
import { createMemoryPageStore, MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import { askJson, clock } from '../../http/support.ts';

/** Settings count while the service runs, not from its next start. */

describe('a watched number setting', () => {
  test('is reported at once and with each change, until the end', async () => {
    const config = createConfig();
    const told: (number | undefined)[] = [];
    const stop = followInteger(config, 'httpd', 'max_uri_length', (value) => told.push(value));
    await config.set('httpd', 'max_uri_length', '999');
    await config.set('httpd', 'changes_timeout', '1');
    await config.delete('httpd', 'max_uri_length');
    stop();
    await config.set('httpd', 'max_uri_length', '500');
    expect(told).toEqual([undefined, 999, undefined]);
  });
});

describe('a running service', () => {
  test('follows its settings, and stores them with its databases', async () => {
    const medium = new MemoryMedium();
    const open = (given = {}) => {
      const common = { clock, random: systemRandom, deferred: deferredAtHand() };
      return createCore({ ...common, storage: createMemoryPageStore({ medium }), config: given });
    };
    const core = await open();
    const { config } = core;
    await config.set('uuids', 'max_count', '2');
    expect(await askJson(core, 'GET /_uuids?count=3')).toEqual([
      403,
      { error: 'forbidden', reason: 'count parameter too large' },
    ]);
    await config.set('svc', 'max_document_size', '256');
    const body = JSON.stringify({ text: 'x'.repeat(256) });
    await askJson(core, 'PUT /db');
    expect((await askJson(core, 'PUT /db/doc', { body }))[0]).toBe(413);
    await config.delete('svc', 'max_document_size');
    expect((await askJson(core, 'PUT /db/doc', { body }))[0]).toBe(201);
    await core.close();
    const again = await open();
    expect(again.config.get('uuids', 'max_count')).toBe('2');
    await again.close();
    const third = await open({ uuids: { max_count: '9' } });
    expect(third.config.get('uuids', 'max_count')).toBe('9');
    await third.close();
  });

  test('closes databases that exceed a lowered limit', async () => {
    const config = createConfig();
    const deferred = deferredAtHand();
    const core = await createCore({ storage: createMemoryPageStore(), clock, random: systemRandom, config, deferred });
    const names = ['a', 'b', 'c', 'd'];
    for (const name of names) await core.registry.create(name);
    await config.set('svc', 'max_dbs_open', '1');
    await core.registry.create('e');
    expect([...names, 'e'].filter((name) => core.registry.peek(name) !== undefined)).toEqual(['e']);
    await core.close();
  });
});
