import { expect, test, vi } from 'vitest';
import { silentLog } from '../../../../src/base/system/log.ts';
import { BackgroundBuilds } from '../../../../src/queries/views/background-builds.ts';
import { patient } from '../../../support/patience.ts';
import { design, ViewFixture } from '../../../support/view-fixture.ts';

test('databases of other processes are left alone; once they are own ones, their indexes are built', async () => {
  const fixture = await ViewFixture.open();
  await fixture.write({ '_design/d': JSON.parse(design({ all: { map: 'function (doc) { emit(1); }' } }).body) });
  let isOwn = false;
  const acquire = vi.fn(async () => ({ database: fixture.database, release: () => undefined }));
  const build = vi.fn(async () => undefined);
  const background = new BackgroundBuilds({
    databases: { acquire, onEvent: () => () => undefined },
    delayMs: 1,
    log: silentLog,
    owns: () => isOwn,
    build,
    forget: () => undefined,
  });
  background.schedule('db');
  isOwn = true;
  background.schedule('other');
  await expect.poll(() => build.mock.calls.length, patient).toBe(1);
  expect(acquire.mock.calls).toEqual([['other']]);
  background.schedule('db');
  await expect.poll(() => build.mock.calls.length, patient).toBe(2);
  await background.close();
  await fixture.close();
});

test('a database that is deleted during the search, and comes again with the same design document, is built', async () => {
  const views = { '_design/d': JSON.parse(design({ all: { map: 'function (doc) { emit(1); }' } }).body) };
  const fixtures = [await ViewFixture.open(), await ViewFixture.open()] as const;
  for (const fixture of fixtures) await fixture.write(views);
  let [{ database }] = fixtures;
  let onDeleted = () => undefined as unknown;
  const build = vi.fn(async () => undefined);
  const background = new BackgroundBuilds({
    databases: {
      acquire: async () => {
        const acquired = database;
        if (build.mock.calls.length === 0) onDeleted();
        return { database: acquired, release: () => undefined };
      },
      onEvent: (listener) => {
        onDeleted = () => listener({ type: 'deleted', name: 'db' });
        return () => undefined;
      },
    },
    delayMs: 1,
    log: silentLog,
    build,
    forget: () => undefined,
  });
  background.schedule('db');
  await expect.poll(() => build.mock.calls.length, patient).toBe(1);
  database = fixtures[1].database;
  background.schedule('db');
  await expect.poll(() => build.mock.calls.length, patient).toBe(2);
  expect(build).toHaveBeenLastCalledWith(database, '_design/d');
  await background.close();
  for (const fixture of fixtures) await fixture.close();
});
