import { assert } from 'chai';
import { assertJson } from '../../support/conformance/answer.ts';
import { arrayAt, at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const texts = [
  '1. Ascii: hello',
  '2. Russian: На берегу пустынных волн',
  '3. Math: ∮ E⋅da = Q,  n → ∞, ∑ f(i) = ∏ g(i),',
  '4. Geek: STARGΛ̊TE SG-1',
  '5. Braille: ⡌⠁⠧⠑ ⠼⠁⠒  ⡍⠜⠇⠑⠹⠰⠎ ⡣⠕⠌',
  '6. Null: \u0000 Control: \u0001\u001f Line ends: \u2028\u2029',
  '7. Beyond the plane: 😀 𝒜 🇨🇭',
  '8. Right to left: שלום עולם',
];

/** Text of any script goes in and comes out unchanged. */
export default suite('utf8', [
  test('texts in many scripts survive a single write', async (t) => {
    for (const [index, text] of texts.entries()) {
      const rev = await t.put(`${index}`, { text });
      assertJson(await t.get(`/${index}`), 200, { _id: `${index}`, _rev: rev, text });
    }
  }),

  test('texts in many scripts survive a bulk write and a listing', async (t) => {
    await t.bulk(texts.map((text, index) => ({ _id: `${index}`, text, [text]: index })));
    const rows = arrayAt((await t.get('/_all_docs?include_docs=true')).json, 'rows');
    assert.deepEqual(
      rows.map((row) => at(row, 'doc', 'text')),
      texts,
    );
    assert.deepEqual(
      rows.map((row, index) => at(row, 'doc', texts[index] ?? '')),
      texts.map((_, index) => index),
    );
  }),

  test('escaped and plain text are equal', async (t) => {
    const body = '{"text":"\\u00fc \\ud83d\\ude00 \\/ \\u0022"}';
    await t.at('PUT', '/doc', { body });
    assert.equal(at((await t.get('/doc')).json, 'text'), 'ü 😀 / "');
  }),

  test('a body can contain any white space between its tokens', async (t) => {
    await t.at('PUT', '/doc', { body: ' \r\n\t{ "a" : [ 1 , 2 ] , "b" : "x  y" }\n' });
    const rev = at((await t.get('/doc')).json, '_rev');
    assertJson(await t.get('/doc'), 200, { _id: 'doc', _rev: rev, a: [1, 2], b: 'x  y' });
  }),

  test('ids sort by their UTF-8 bytes, not by UTF-16 units', async (t) => {
    // U+FF5E is EF BD 9E, U+1F600 is F0 9F 98 80; in UTF-16 the latter begins with D83D and would come first.
    const sorted = ['A', 'Z', 'a', 'b', 'é', 'ш', '～', '😀'];
    await t.bulk(sorted.toReversed().map((_id) => ({ _id })));
    const rows = arrayAt((await t.get('/_all_docs')).json, 'rows');
    assert.deepEqual(
      rows.map((row) => at(row, 'id')),
      sorted,
    );
  }),

  test('an id in another script is read by its encoded path, which Location has', async (t) => {
    const answer = await t.at('PUT', `/${encodeURIComponent('Fähre 船')}`, { json: { value: 1 } });
    assert.equal(answer.header('location'), `${t.baseUrl}/${t.db}/F%C3%A4hre%20%E8%88%B9`);
    assert.deepInclude((await t.get('/F%c3%a4hre%20%e8%88%b9')).json, { _id: 'Fähre 船', value: 1 });
  }),
]);
