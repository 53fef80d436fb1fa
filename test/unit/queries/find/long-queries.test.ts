import { describe, expect, test } from 'vitest';
import { createKeyOrder } from '../../../../src/base/collation/key-order.ts';
import { isObject } from '../../../../src/base/json/objects.ts';
import { atOnce } from '../../../../src/base/shared/turn.ts';
import { parseDocId } from '../../../../src/database/documents/identifiers.ts';
import { parseRevId } from '../../../../src/database/documents/revisions/revisions.ts';
import { parseFindQuery } from '../../../../src/queries/find/find-query.ts';
import { parseIndexMap, type StoredIndex } from '../../../../src/queries/find/index-definition.ts';
import { Conditions } from '../../../../src/queries/find/planning/conditions.ts';
import { explanationJson } from '../../../../src/queries/find/planning/explanation.ts';
import { choosePlan } from '../../../../src/queries/find/planning/planner.ts';

/** A query may have thousands of names. Others have turns meanwhile (docs/internals.md#long-work-takes-turns). */
const names = Array.from({ length: 10_000 }, (_, n) => `field${n}`);

describe('a query with thousands of names', () => {
  test.each(['sort', 'fields'])('is parsed in steps: %s', (member) => {
    // One for each 256 of them.
    expect([...parseFindQuery({ selector: {}, [member]: names.slice(0, 1_000) })]).toHaveLength(3);
  });

  test('gets no suggestion of an index that is too long', () => {
    const order = createKeyOrder('unicode');
    const choose = (sort: readonly string[]) => choosePlan(atOnce(parseFindQuery({ selector: {}, sort })), [], order);
    expect(() => choose(names.slice(0, 2))).toThrow(
      'No index exists for this sort, try indexing by the sort fields. POST this to _index: {"index":{"fields":["field0","field1"]}}',
    );
    expect(() => choose(names.slice(0, 101))).toThrow(/try indexing by the sort fields\.$/);
  });

  test('is planned with many indexes in proportion to its length, however it is nested', () => {
    const order = createKeyOrder('unicode');
    const stored = Array.from({ length: 50 }, (_, n) => storedIndex([`field${n}`, 'other']));
    const nested = names
      .slice(0, 9_000)
      .reduce<unknown>(
        (inner, name, n) => (n % 20 === 0 ? { $and: [inner] } : { $and: [...partsOf(inner), { [name]: { $gt: n } }] }),
        { $and: [] },
      );
    for (const selector of [nested, { $nor: [{ $or: names.slice(0, 9_000).map((name) => ({ [name]: 1 })) }] }]) {
      const query = atOnce(parseFindQuery({ selector }));
      const choice = choosePlan(query, stored, order);
      const explained = {
        database: 'db',
        query,
        choice,
        conditions: new Conditions(query, order),
        isCovering: false,
        ids: undefined,
      };
      expect(explanationJson(explained)['index_candidates']).toHaveLength(51);
    }
  });
});

function partsOf(selector: unknown): unknown[] {
  const parts = isObject(selector) ? selector['$and'] : [];
  return Array.isArray(parts) ? parts : [];
}

function storedIndex(fields: readonly string[]): StoredIndex {
  const design = parseDocId(`_design/${fields[0]}`);
  return {
    index: { type: 'json', design, name: 'index', ...parseIndexMap({ fields }) },
    design: { id: design, rev: parseRevId('1-a'), body: '{}' },
  };
}
