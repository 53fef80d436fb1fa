import { assert } from 'chai';
import { find, findIds } from '../../support/conformance/find-steps.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const words = ['Anna', 'anna', 'banana', 'Öl', 'öl', 'a.b', 'line\nnext', '2024-05-06', '😀!', ''];

const patterns: readonly [pattern: string, found: readonly string[]][] = [
  ['nn', ['Anna', 'anna']],
  ['^a', ['anna', 'a.b']],
  ['(?i)^anna$', ['Anna', 'anna']],
  ['^(?i:A)nna$', ['Anna', 'anna']],
  ['(?i)ÖL', ['Öl', 'öl']],
  ['a\\.b', ['a.b']],
  ['^(an|ban)+', ['anna', 'banana']],
  ['^(?:ba)?(?<x>na){2}$', ['banana']],
  ['^\\d{4}-\\d{2}-\\d{2}$', ['2024-05-06']],
  ['^[[:alpha:]]+$', ['Anna', 'anna', 'banana']],
  ['^\\p{L}+$', ['Anna', 'anna', 'banana', 'Öl', 'öl']],
  ['^[^a-z]*$', ['2024-05-06', '😀!', '']],
  ['^next$', []],
  ['(?m)^next$', ['line\nnext']],
  ['e.n', []],
  ['(?s)e.n', ['line\nnext']],
  ['^.!$', ['😀!']],
  ['\\x{1F600}', ['😀!']],
  ['^$', ['']],
  ['\\bnext\\b', ['line\nnext']],
  ['[]a]{2}', []],
  ['n{2,}', ['Anna', 'anna']],
];

const refused = ['(?=a)', '(?<!a)b', '(a)\\1', 'a**', '*a', 'a++', '(a', 'a)', '[b-a]', 'a{3,1}', '\\p{Nothing}', '\\'];

/** `$regex` (docs/http/find.md#regular-expressions). Patterns are matched in bounded time, so that none of them holds the service up. */
export default suite('find_regex', [
  test('$regex matches in any part of the text', async (t) => {
    await t.bulk(words.map((word, place) => ({ _id: `${place}`, word })));
    for (const [pattern, found] of patterns) {
      const answer = await find(t, { selector: { word: { $regex: pattern } }, fields: ['word'] });
      assert.deepEqual(
        at(answer.json, 'docs'),
        found.map((word) => ({ word })),
        pattern,
      );
    }
  }),

  test('an invalid or unsupported pattern is refused with the reason', async (t) => {
    for (const pattern of refused) {
      const answer = await t.at('POST', '/_find', { json: { selector: { word: { $regex: pattern } } } });
      assert.deepEqual([answer.status, at(answer.json, 'error')], [400, 'bad_arg'], pattern);
      assert.match(`${at(answer.json, 'reason')}`, /^Bad argument for operator \$regex: ".+"\. .+\.$/);
    }
  }),

  test('a pattern that is catastrophic for backtracking is answered', async (t) => {
    await t.put('x', { word: `${'a'.repeat(50_000)}!` });
    for (const pattern of ['^(a+)+$', '(a|a)*b', '^(a|aa)+$', '(.*)(.*)(.*)(.*)[^a]c', '((a*)*)*b']) {
      // With backtracking it would never end, or be refused for its steps.
      assert.deepEqual(await findIds(t, { word: { $regex: pattern } }), [], pattern);
    }
    const long = await t.at('POST', '/_find', { json: { selector: { word: { $regex: '(((a{9}){9}){9}){9}' } } } });
    assert.equal(at(long.json, 'error'), 'bad_arg');
    const empty = await t.at('POST', '/_find', { json: { selector: { word: { $regex: '((){99999}){99999}' } } } });
    assert.equal(empty.status, 200);
  }),
]);
