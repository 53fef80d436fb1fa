import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SetteeError } from '../../../../src/packages/database-client/index.ts';
import { SyncRun } from '../../../../src/packages/frameworks/tanstack/sync-run.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout'] }));
afterEach(() => void vi.useRealTimers());

const refusal = (status: number) => new SetteeError(status, 'refused', 'refused');

/** A run on demand with one read, which fails as long as there is an error. */
function start(error: Error) {
  const state: { error: Error | undefined } = { error };
  const said: string[] = [];
  const run = new SyncRun<object>({
    parameters: {
      collection: {},
      begin: () => undefined,
      write: () => undefined,
      commit: () => true,
      markReady: () => void said.push('ready'),
      markError: () => void said.push('error'),
    },
    sources: () => [],
    combined: () => undefined,
    onError: () => undefined,
  });
  const load = (name: string) =>
    run.load({
      step: () => {
        said.push(name);
        return state.error ? Promise.reject(state.error) : Promise.resolve(true);
      },
      isOver: () => false,
      done: () => void said.push('done'),
      failed: () => void said.push('failed'),
    });
  const listen = async () => {
    await vi.advanceTimersByTimeAsync(0);
    return said.splice(0);
  };
  run.changed(undefined);
  return { run, state, load, said: listen };
}

test.each([401, 403, 404, 503])(
  'a read that is refused with %d is tried again, less and less often',
  async (status) => {
    const { load, said, state } = start(refusal(status));
    expect(await said()).toEqual(['ready']);
    load('read');
    expect(await said()).toEqual(['read', 'error']);
    await vi.advanceTimersByTimeAsync(500);
    await vi.advanceTimersByTimeAsync(999);
    expect(await said()).toEqual(['read', 'error']);
    state.error = undefined;
    await vi.advanceTimersByTimeAsync(1);
    expect(await said()).toEqual(['read', 'done', 'ready']);
    // Something has been read by now.
    state.error = refusal(status);
    load('next');
    expect(await said()).toEqual(['next']);
  },
);

test.each<[string, (run: SyncRun<object>) => void, boolean]>([
  ['the feed has failed and returns', (run) => run.changed(undefined), true],
  ['a design document changes', (run) => run.changed(new Set(['a', '_design/d'])), true],
  ['documents change', (run) => run.changed(new Set(['a'])), false],
])('it is tried again at once, or not, when %s', async (_, happen, isAtOnce) => {
  const { run, load, said, state } = start(refusal(404));
  await said();
  load('read');
  expect(await said()).toEqual(['read', 'error']);
  state.error = undefined;
  happen(run);
  expect((await said()).includes('done')).toBe(isAtOnce);
});

test('another query reads at once, and before it', async () => {
  const { load, said, state } = start(refusal(404));
  await said();
  load('first');
  expect(await said()).toEqual(['first', 'error']);
  load('second');
  expect(await said()).toEqual(['second', 'error']);
  state.error = undefined;
  load('third');
  expect(await said()).toEqual(['third', 'done', 'ready', 'first', 'done', 'ready', 'second', 'done', 'ready']);
});

test('what was shown is compared with the database before it is tried again', async () => {
  const { run, load, said } = start(refusal(403));
  await said();
  load('refused');
  expect(await said()).toEqual(['refused', 'error']);
  run.changed(undefined);
  // The comparison ends with `ready`: there is nothing to compare.
  expect(await said()).toEqual(['ready', 'refused', 'error']);
});

test('a read that can never succeed is not tried again', async () => {
  const { load, said, state } = start(refusal(400));
  await said();
  load('read');
  expect(await said()).toEqual(['read', 'failed', 'ready']);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await said()).toEqual([]);
  // Nothing has been read so far.
  state.error = refusal(401);
  load('next');
  expect(await said()).toEqual(['next', 'error']);
});
