import { expect, test } from 'vitest';
import { createTestSandbox, openProgram } from './quickjs-files.ts';

const counting = 'function (doc) { calls = (typeof calls === "undefined" ? 0 : calls) + 1; emit(calls); }';

async function countOf(program: Awaited<ReturnType<typeof openProgram>>['program']) {
  const mapper = await program.mapper([counting]);
  return (await mapper.map(['{}']))[0]?.keys[0];
}

test('a program keeps its engine, and gets another when others needed the place', async () => {
  const sandbox = createTestSandbox({ maxEngines: 2 });
  const first = await openProgram(sandbox);
  const second = await openProgram(sandbox);
  expect([await countOf(first.program), await countOf(first.program), await countOf(second.program)]).toEqual([
    '1',
    '2',
    '1',
  ]);
  const third = await openProgram(sandbox);
  expect(await countOf(third.program)).toBe('1');
  // The first was not used for the longest time.
  expect([await countOf(second.program), await countOf(first.program)]).toEqual(['2', '1']);
  sandbox.close();
});

test('the same signature in the same scope is one program', async () => {
  const sandbox = createTestSandbox();
  const options = { signature: 'same' };
  expect((await openProgram(sandbox, {}, options)).program).toBe((await openProgram(sandbox, {}, options)).program);
  expect((await openProgram(sandbox, {}, options)).program).not.toBe(
    (await openProgram(sandbox, {}, { ...options, scope: 'other' })).program,
  );
  sandbox.close();
});

test('a closed sandbox takes no more work', async () => {
  const sandbox = createTestSandbox();
  const { program } = await openProgram(sandbox);
  sandbox.close();
  await expect((async () => program.mapper([counting]))()).rejects.toMatchObject({ code: 'shutting_down' });
});

test('without its WebAssembly the sandbox says so, and tries again', async () => {
  let attempts = 0;
  const sandbox = createTestSandbox({
    loadWasm: async () => {
      attempts++;
      throw new Error('offline');
    },
  });
  await expect(openProgram(sandbox)).rejects.toMatchObject({ code: 'not_implemented' });
  await expect(openProgram(sandbox)).rejects.toMatchObject({ code: 'not_implemented' });
  expect(attempts).toBe(2);
});

test('1,000 programs are built and dropped in bounded memory', { timeout: 120_000 }, async () => {
  const sandbox = createTestSandbox({ maxEngines: 4 });
  const build = async (count: number) => {
    for (let index = 0; index < count; index++) {
      const { program } = await openProgram(sandbox, { index, text: 'x'.repeat(10_000) });
      const mapper = await program.mapper([`function (doc) { emit([doc.a, ${index}], {n: 1}); }`]);
      expect((await mapper.map([`{"a":${index}}`]))[0]?.keys).toEqual([`[${index},${index}]`]);
      if (index % 3 === 0) program.close();
    }
  };
  await build(100);
  const before = process.memoryUsage.rss();
  await build(1_000);
  expect(process.memoryUsage.rss() - before).toBeLessThan(100 * 1024 * 1024);
  sandbox.close();
});
