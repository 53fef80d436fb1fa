import { expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { REGISTRY_FILE } from '../../../../src/database/registry/database-list.ts';
import { settle } from '../store/harness.ts';
import { Service } from './service.ts';

test('databases for which the medium has no room leave no file', async () => {
  const service = new Service();
  const registry = await service.open();
  service.hooks.beforeCommit = (_commit, file) => {
    if (file !== REGISTRY_FILE) throw new DatabaseError('storage_full', 'The test medium is full');
  };
  for (const name of ['a', 'a', 'b']) {
    await expect(registry.create(name)).rejects.toMatchObject({ code: 'storage_full' });
  }
  await settle();
  expect(service.files()).toEqual([]);
  service.hooks.beforeCommit = () => undefined;
  await registry.create('a');
  expect(registry.names()).toEqual(['a']);
  await registry.close();
});
