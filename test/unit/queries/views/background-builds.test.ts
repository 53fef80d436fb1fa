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
