import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { atOnce } from '../../../../src/base/shared/turn.ts';
import {
  findLocalTime,
  guardLoops,
  guardModule,
  namesOfGuarded,
} from '../../../../src/queries/sandbox/isolates/loop-guard.ts';
import { QuickJsInstanceFactory } from '../../../../src/queries/sandbox/isolates/quickjs-instance.ts';
import { ThreadTime } from '../../../support/thread-time.ts';
import { createTestSandbox, openProgram, quickJsPath } from './quickjs-files.ts';

/** Modules of QuickJS whose loops were guarded by the build. */
let bytes: Uint8Array<ArrayBuffer>;
let guarded: Uint8Array<ArrayBuffer>;
const MAX_BYTES = 64 * 1024 * 1024;

beforeAll(async () => {
  bytes = new Uint8Array(await readFile(quickJsPath));
  guarded = guardModule(bytes);
});

test("guarded modules name the functions that their loops call, and unguarded ones don't", () => {
  const names = { tick: must(atOnce(guardLoops(bytes))).tick, localTime: findLocalTime(bytes) };
  expect(names.localTime).toBeDefined();
  expect(namesOfGuarded(guarded)).toMatchObject({
    tick: { module: names.tick.module, name: names.tick.name },
    localTime: { module: names.localTime?.module, name: names.localTime?.name },
  });
  expect(namesOfGuarded(bytes)).toBeUndefined();
});

test('guarded modules are not guarded again, and can be compiled in another thread', async () => {
  const compiled = await new QuickJsInstanceFactory(async () => guarded, MAX_BYTES).compiled();
  expect(compiled).toMatchObject({ ...namesOfGuarded(guarded) });
  expect(await new QuickJsInstanceFactory(async () => compiled, MAX_BYTES).compiled()).toBe(compiled);
});

test('guarded modules have their native loops stopped, and run in UTC', async () => {
  const sandbox = createTestSandbox({ loadWasm: async () => guarded });
  const { program } = await openProgram(sandbox);
  const zone = await program.mapper(['function () { emit(new Date(2024, 6, 1).getTimezoneOffset(), null); }']);
  expect((await zone.map(['{"_id":"a"}']))[0]?.keys).toEqual(['0']);
  const { program: short } = await openProgram(sandbox, {}, { timeoutMs: 200 });
  const endless = await short.mapper(['function () { new Array(4e9).indexOf(1); }']);
  const time = new ThreadTime();
  const begun = time.ms();
  await expect((async () => endless.map(['{"_id":"a"}']))()).rejects.toMatchObject({ code: 'os_process_error' });
  // Of a processor: without the guards it would be far more.
  expect(time.ms() - begun).toBeLessThan(5_000);
  time.close();
  sandbox.close();
});
