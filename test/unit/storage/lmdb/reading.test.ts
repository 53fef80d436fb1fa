import { expect, test } from 'vitest';
import { relaxed } from '../../../conformance/storage/expectations.ts';
import { createStore, prepared, useStoreFolder } from './stores.ts';

useStoreFolder();

test('an environment that has been opened before reads each commit right after it', async () => {
  const first = await prepared(createStore());
  for (let number = 3; number < 50; number += 1) {
    await first.commit(relaxed({ writePages: [{ number: 2 * number, value: `${number}` }] }));
    expect(first.read(2 * number, 'text')).toBe(`${number}`);
  }
});
