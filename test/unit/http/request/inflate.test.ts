import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { inflate } from '../../../../src/http/request/body-bounds.ts';

const uncaught: unknown[] = [];
const note = (failure: unknown) => uncaught.push(failure);

afterEach(() => {
  process.off('uncaughtException', note);
});

test("a request refused after it waited in the middle of its compressed body doesn't crash the process", async () => {
  process.on('uncaughtException', note);
  const packed = gzipSync(Buffer.alloc(1_000_000));
  const busy = new DatabaseError('too_busy', 'There is no room for it.');
  let chunks = 0;
  const add = async () => {
    chunks += 1;
    if (chunks > 1) throw busy;
    // Meanwhile the platform inflates as much as it keeps, and pauses.
    await delay(100);
  };
  await expect(inflate([packed], { add })).rejects.toBe(busy);
  await delay(50);
  expect(uncaught).toEqual([]);
});
