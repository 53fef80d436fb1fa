import { describe, expect, test } from 'vitest';
import { createKeyOrder } from '../../../src/collation/key-order.ts';
import { choosePlan } from '../../../src/find/planning/planner.ts';
import { parseFindQuery } from '../../../src/find/queries/find-query.ts';
import { atOnce } from '../../../src/shared/turn.ts';

/** A query may be as long as a request, 64 MB. Others have turns meanwhile (docs/internals.md#long-work-takes-turns). */
const names = Array.from({ length: 10_000 }, (_, n) => `field${n}`);

describe('a query with thousands of names', () => {
  test.each(['sort', 'fields'])('is parsed in steps: %s', (member) => {
    // One for each 256 of them.
    expect([...parseFindQuery({ selector: {}, [member]: names })]).toHaveLength(39);
  });

  test('is refused without an index that nobody would make', () => {
    const order = createKeyOrder('unicode');
    const choose = (count: number) =>
      choosePlan(atOnce(parseFindQuery({ selector: {}, sort: names.slice(0, count) })), [], order);
    expect(() => choose(2)).toThrow(
      'No index exists for this sort, try indexing by the sort fields. POST this to _index: {"index":{"fields":["field0","field1"]}}',
    );
    expect(() => choose(10_000)).toThrow(/try indexing by the sort fields\.$/);
  });
});
