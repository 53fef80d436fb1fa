import { expect, test } from 'vitest';
import { ByteBudget, type ByteLease } from '../../../../src/base/shared/byte-budget.ts';
import { readBulkBody } from '../../../../src/http/documents/bulk-docs.ts';
import { contextOf } from '../support.ts';

const LIMIT = 8_388_608;

/** Tells the most that was ever taken. */
class WatchedBudget extends ByteBudget {
  most = 0;

  override add(lease: ByteLease, bytes: number): void {
    super.add(lease, bytes);
    this.most = Math.max(this.most, this.used);
  }
}

function bulk(texts: readonly string[]): string {
  return `{"docs":[${texts.join(',')}]}`;
}

test('many simultaneous long requests get their memory one after another', async () => {
  const bytesInFlight = new WatchedBudget(LIMIT, 30_000);
  const body = bulk(Array<string>(3_000).fill('{}'));
  const counts = Array.from({ length: 12 }, async () => {
    const context = contextOf({ method: 'POST', body }, {}, '', { bytesInFlight });
    const { documents } = await readBulkBody(context);
    context.releaseBytes();
    return documents.length;
  });
  expect(await Promise.all(counts)).toEqual(Array(12).fill(3_000));
  expect(bytesInFlight.most).toBeLessThanOrEqual(LIMIT);
  expect(bytesInFlight.used).toBe(0);
});

test("memory reserved for documents that don't arrive is released", async () => {
  const bytesInFlight = new WatchedBudget(LIMIT, 30_000);
  const body = bulk([
    ...Array<string>(1_000).fill('{}'),
    ...Array<string>(1_000).fill(`{"text":"${'x'.repeat(500)}"}`),
  ]);
  const context = contextOf({ method: 'POST', body }, {}, '', { bytesInFlight });
  expect((await readBulkBody(context)).documents).toHaveLength(2_000);
  expect(bytesInFlight.most).toBeGreaterThan(4_000_000);
  expect(bytesInFlight.used).toBeLessThan(4_000_000);
});
