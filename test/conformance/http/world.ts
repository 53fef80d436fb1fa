import { assert } from 'chai';
import { arrayAt, at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';
import { countryDocuments } from '../clients/countries.ts';

/** Views over real data: 250 countries. The tables were made from the data's own files by counting, not by our code. */

const regions = { map: 'function (doc) { emit([doc.region, doc.subregion], 1); }', reduce: '_count' };
const area = { map: 'function (doc) { emit(doc.region, Math.round(doc.area)); }', reduce: '_sum' };
const borders = { map: 'function (doc) { emit(doc.region, doc.borders.length); }', reduce: '_stats' };
const languages = {
  map: 'function (doc) { for (var code in doc.languages) emit(doc.languages[code], doc.name.common); }',
  reduce: 'function (keys, values, rereduce) { return rereduce ? sum(values) : values.length; }',
};
const names = {
  map: 'function (doc) { for (var code in doc.name.native) emit(doc.name.native[code].common, code); }',
};

async function writeCountries(t: Toolkit, views: Readonly<Record<string, object>>): Promise<void> {
  await t.put('_design/world', { views });
  await t.bulk(countryDocuments());
}

async function rowsOf(t: Toolkit, path: string): Promise<readonly unknown[]> {
  const answer = await t.get(`/_design/world/_view/${path}`);
  assert.equal(answer.status, 200, answer.text);
  return arrayAt(answer.json, 'rows');
}

/** A query's groups as a table. */
async function table(t: Toolkit, path: string): Promise<readonly (readonly [unknown, unknown])[]> {
  return (await rowsOf(t, path)).map((row) => [at(row, 'key'), at(row, 'value')]);
}

export default suite('world', [
  test('countries are found by region, with the area of each in km²', async (t) => {
    await writeCountries(t, { regions, area });
    assert.deepEqual(await table(t, `regions`), [[null, 250]]);
    assert.deepEqual(await table(t, `regions?group_level=1`), [
      [['Africa'], 59],
      [['Americas'], 56],
      [['Antarctic'], 5],
      [['Asia'], 50],
      [['Europe'], 53],
      [['Oceania'], 27],
    ]);
    assert.deepEqual(await table(t, `regions?group=true&startkey=["Europe"]&endkey=["Europe",{}]`), [
      [['Europe', 'Central Europe'], 6],
      [['Europe', 'Eastern Europe'], 4],
      [['Europe', 'Northern Europe'], 16],
      [['Europe', 'Southeast Europe'], 9],
      [['Europe', 'Southern Europe'], 10],
      [['Europe', 'Western Europe'], 8],
    ]);
    assert.deepEqual(await table(t, `area?group=true`), [
      ['Africa', 30318417],
      ['Americas', 42077922],
      ['Antarctic', 14012111],
      ['Asia', 32138141],
      ['Europe', 23022897],
      ['Oceania', 8515313],
    ]);
    assert.deepEqual(await table(t, `area`), [[null, 150084801]]);
  }),

  test('countries are found by their neighbours and languages', async (t) => {
    await writeCountries(t, { borders, languages });
    assert.deepEqual(await table(t, `borders`), [[null, { sum: 649, count: 250, min: 0, max: 16, sumsqr: 3489 }]]);
    assert.deepEqual(await table(t, `borders?key="Europe"`), [
      [null, { sum: 183, count: 53, min: 0, max: 14, sumsqr: 1073 }],
    ]);
    assert.deepEqual(await table(t, `borders?key="Asia"`), [
      [null, { sum: 168, count: 50, min: 0, max: 16, sumsqr: 940 }],
    ]);
    const spokenBy = await table(t, `languages?group=true`);
    assert.lengthOf(spokenBy, 155);
    const spoken = spokenBy.toSorted(([, left], [, right]) => Number(right) - Number(left)).slice(0, 6);
    assert.deepEqual(spoken, [
      ['English', 91],
      ['French', 46],
      ['Arabic', 25],
      ['Spanish', 24],
      ['Portuguese', 10],
      ['Russian', 8],
    ]);
    const german = await rowsOf(t, `languages?reduce=false&key="German"`);
    assert.deepEqual(
      german.map((row) => at(row, 'value')),
      ['Belgium', 'Germany', 'Liechtenstein', 'Luxembourg', 'Namibia'],
    );
  }),

  test('countries are sorted by name, and those of different scripts one script after another', async (t) => {
    await writeCountries(t, { names });
    const wanted = new Set([
      ...['Åland', 'France', 'India', 'Ísland', 'Österreich', 'Ελλάδα', 'Россия', 'საქართველო', 'Հայաստան', 'ישראל'],
      ...['إسرائيل', 'مصر', 'ދިވެހިރާއްޖޭގެ', 'ኢትዮጵያ', 'भारत', 'இந்தியா', 'இலங்கை', 'ශ්‍රී ලංකාව', 'ประเทศไทย'],
      ...['ສປປລາວ', 'འབྲུག་ཡུལ་', 'မြန်မာ', '한국', '中国', '日本'],
    ]);
    const keys = (await rowsOf(t, `names`)).map((row) => at(row, 'key'));
    const found = [...new Set(keys)].filter((name) => typeof name === 'string' && wanted.has(name));
    assert.deepEqual(found, [...wanted]);
  }),
]);
