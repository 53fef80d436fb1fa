import { describe, expect, test } from 'vitest';
import type { DatabaseEvent, Registry } from '../../../../src/database/registry/contract.ts';
import { Gate, settle } from '../store/harness.ts';
import { count, Service, write } from './service.ts';

/** Databases that come to be with what is first written into them. */
describe('a database that the first write creates', () => {
  async function open() {
    const service = new Service();
    const registry = await service.open();
    const events: DatabaseEvent[] = [];
    registry.onEvent((event) => events.push(event));
    return { service, registry, events };
  }

  test('exists with what was written, also after a restart', async () => {
    const { service, registry, events } = await open();
    const answer = await registry.createByWriting('a', async (inside) => {
      expect([inside.has('a'), registry.has('a')]).toEqual([true, false]);
      await write(inside, 'a', 'x');
      expect(events).toEqual([]);
      return 'written';
    });
    expect(answer).toBe('written');
    expect(events).toEqual([
      { type: 'created', name: 'a' },
      { type: 'updated', name: 'a' },
    ]);
    await write(registry, 'a', 'y');
    expect(events.at(2)).toEqual({ type: 'updated', name: 'a' });
    await registry.close();
    const again = await service.open();
    expect(await count(again, 'a')).toBe(2);
    await again.close();
  });

  test('does not exist if nothing was written, and leaves no file', async () => {
    const { service, registry, events } = await open();
    await registry.createByWriting('a', (inside) => inside.use('a', (database) => database.updateSeq));
    const failing = registry.createByWriting('a', () => Promise.reject(new Error('refused')));
    await expect(failing).rejects.toThrow('refused');
    await settle();
    expect([registry.names(), events, service.files()]).toEqual([[], [], []]);
    await registry.create('a');
    expect(await count(registry, 'a')).toBe(0);
    await registry.close();
  });

  /** One that writes only when the gate is opened. */
  function writeLater(registry: Registry, gate: Gate, id: string): Promise<void> {
    return registry.createByWriting('a', async (inside) => {
      await gate.opened;
      await write(inside, 'a', id);
    });
  }

  test('is one database for all writers, whichever is first', async () => {
    const { service, registry, events } = await open();
    const gate = new Gate();
    const later = writeLater(registry, gate, 'x');
    await registry.createByWriting('a', () => 'refused');
    expect(registry.has('a')).toBe(false);
    await registry.createByWriting('a', (inside) => write(inside, 'a', 'y'));
    expect(await count(registry, 'a')).toBe(1);
    gate.open();
    await later;
    expect(await count(registry, 'a')).toBe(2);
    expect(events.filter(({ type }) => type === 'created')).toHaveLength(1);
    expect(service.files()).toEqual(['a']);
    await registry.close();
  });

  test('is the database that another request creates meanwhile, and stays open for its writer', async () => {
    const { service, registry } = await open();
    const gate = new Gate();
    const later = writeLater(registry, gate, 'x');
    await registry.createByWriting('a', () => 'refused');
    await registry.create('a');
    await expect(registry.create('a')).rejects.toMatchObject({ code: 'file_exists' });
    gate.open();
    await later;
    expect([await count(registry, 'a'), service.files()]).toEqual([1, ['a']]);
    await registry.close();
  });

  test('is removed with its file if it is deleted before the writer has written', async () => {
    const { service, registry } = await open();
    const gate = new Gate();
    const later = writeLater(registry, gate, 'x');
    await registry.createByWriting('a', () => 'refused');
    await registry.create('a');
    await registry.delete('a');
    gate.open();
    await expect(later).rejects.toMatchObject({ code: 'storage_deleted' });
    await settle();
    expect([registry.names(), service.files()]).toEqual([[], []]);
    await registry.close();
  });

  test("fails to be created when the service ends, and doesn't exist after a restart", async () => {
    const { service, registry } = await open();
    const gate = new Gate();
    const later = writeLater(registry, gate, 'x');
    await registry.createByWriting('a', () => 'refused');
    await registry.close();
    gate.open();
    await expect(later).rejects.toMatchObject({ code: 'storage_closed' });
    const again = await service.open();
    await settle();
    expect([again.names(), service.files()]).toEqual([[], []]);
    await again.close();
  });
});
