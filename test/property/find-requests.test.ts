import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Core } from '../../src/core/core.ts';
import { at } from '../support/conformance/json.ts';
import { roundsOf } from '../support/long-runs.ts';
import { askJson, openCore } from '../unit/http/support.ts';

const operators = [
  ...['$lt', '$lte', '$eq', '$ne', '$gte', '$gt', '$exists', '$type', '$in', '$nin', '$size', '$mod', '$regex'],
  ...['$beginsWith', '$all', '$elemMatch', '$allMatch', '$keyMapMatch', '$and', '$or', '$nor', '$not', '$text', '$'],
];
const names = ['a', 'a.b', '', '.', 'a\\.b', '\\', '_id', '__proto__', 'constructor', '0', 'fields', 'x'.repeat(300)];
const scalar = fc.oneof(
  fc.constantFrom<unknown[]>(null, true, false, 0, -1, 1.5, 1e308, '', 'a', '_design/i', '(a+)+$', '[', 'asc', 'desc'),
  fc.string({ unit: 'binary', maxLength: 5 }),
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium' },
    { weight: 2, arbitrary: scalar },
    { weight: 3, arbitrary: fc.dictionary(fc.constantFrom(...operators, ...names), tie('value'), { maxKeys: 3 }) },
    { weight: 1, arbitrary: fc.array(tie('value'), { maxLength: 3 }) },
  ),
}));
/** What is right more often than not. */
const usually = (right: fc.Arbitrary<unknown>, wild: fc.Arbitrary<unknown> = value) =>
  fc.oneof({ weight: 12, arbitrary: right }, { weight: 1, arbitrary: wild });
const condition = fc.oneof(
  scalar,
  fc.dictionary(fc.constantFrom('$lt', '$eq', '$gt', '$ne'), value, { minKeys: 1, maxKeys: 2 }),
  fc.record({ $in: fc.array(value, { maxLength: 2 }) }),
  fc.record({ $elemMatch: fc.record({ $eq: scalar }) }),
  fc.record({ $regex: fc.constantFrom('a', '(a+)+$', '[^b]{2,}', '(?i)A') }),
);
const rightSelector = fc.dictionary(fc.constantFrom('a', 'a.b', '_id', 'c'), usually(condition), { maxKeys: 2 });
const selector = usually(
  fc.oneof(
    rightSelector,
    fc.record({ $or: fc.array(rightSelector, { maxLength: 2 }) }),
    fc.record({ $not: rightSelector }),
  ),
  fc.dictionary(fc.constantFrom(...operators, ...names), value, { maxKeys: 3 }),
);
const field = fc.constantFrom<unknown[]>('a', 'b', '_id', 'a.b');
const fields = usually(fc.array(field, { minLength: 1, maxLength: 2 }));
const sort = usually(
  fc.constantFrom<unknown[]>([], ['_id'], [{ _id: 'desc' }], ['a']),
  fc.array(fc.constantFrom<unknown[]>({ a: 'asc' }, { b: 'desc' }, 'b', {}, 1)),
);
const query = fc.record(
  {
    selector,
    sort,
    fields,
    limit: usually(fc.nat({ max: 5 })),
    skip: usually(fc.nat({ max: 5 })),
    use_index: usually(fc.constantFrom<unknown[]>('i', ['i', 'i'], 'i/i', '_design/i/i')),
    bookmark: usually(fc.constantFrom('nil', 'WyIiLG51bGwsImEiXQ', 'W10')),
    execution_stats: usually(fc.boolean()),
    allow_fallback: fc.boolean(),
  },
  { requiredKeys: ['selector'] },
);
const index = fc.record(
  {
    index: fc.oneof(
      { weight: 4, arbitrary: fc.record({ fields, partial_filter_selector: selector }, { requiredKeys: ['fields'] }) },
      { weight: 1, arbitrary: value },
    ),
    name: usually(fc.constantFrom('i', '__proto__', 'toString')),
    ddoc: usually(fc.constantFrom('i', '_design/i', '_local/x', 'a/b')),
    type: usually(fc.constant('json'), fc.constantFrom('text', 'x')),
  },
  { requiredKeys: ['index'] },
);
const request = fc.oneof(
  fc.tuple(fc.constant('/db/_find'), query),
  fc.tuple(fc.constant('/db/_explain'), query),
  fc.tuple(fc.constant('/db/_index'), index),
  fc.tuple(fc.constant('/db/_index/_bulk_delete'), fc.record({ docids: fc.oneof(value, fc.array(scalar)) })),
);

let core: Core;
beforeAll(async () => {
  core = await openCore();
  await askJson(core, 'PUT /db');
  const docs = [{ _id: 'a', a: 1 }, { _id: 'b', a: { b: [1, 'a'] } }, { _id: 'c', a: ['a'], b: null }, { _id: 'd' }];
  await askJson(core, 'POST /db/_bulk_docs', { body: JSON.stringify({ docs }) });
});
afterAll(() => core.close());

test('any random _find request gets a result or a valid error', async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(request, async ([path, body]) => {
      const [status, answer] = await askJson(core, `POST ${path}`, { body: JSON.stringify(body) });
      const error = at(answer, 'error');
      expect([200, 400, 501], JSON.stringify(answer)).toContain(status);
      expect(error === undefined, `${status} ${error}`).toBe(status === 200);
      expect(error).not.toBe('unknown_error');
      seen.set(`${path} ${status}`, (seen.get(`${path} ${status}`) ?? 0) + 1);
    }),
    { numRuns: roundsOf(1_200, 3_000) },
  );
  for (const what of ['_find 200', '_find 400', '_explain 200', '_index 200', '_index 400', '_bulk_delete 200']) {
    expect(
      [...seen.keys()].some((key) => key.endsWith(what)),
      what,
    ).toBe(true);
  }
}, 300_000);
