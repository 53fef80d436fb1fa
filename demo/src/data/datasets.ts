/** The two databases of the demo, and how their documents are shown. Documents may have been edited to anything. */
import { counts } from 'virtual:world';
import type { Found, StoredDocument } from './database.ts';
import { slug } from './slug.ts';

export interface Dataset {
  /** The name of the database, also in the page's address. */
  readonly name: 'countries' | 'cities';
  readonly title: string;
  readonly singular: string;
  /** As in "No cities yet". */
  readonly plural: string;
  /** JSON lines. */
  readonly file: string;
  readonly count: number;
  readonly batch: number;
  readonly example: string;
  /** The search looks for words of the documents' names, in every language; else for the beginning of ids. */
  readonly isFoundByName: boolean;
  readonly about: string;
  readonly describe: (document: StoredDocument) => Description;
}

export interface Description {
  readonly title: string;
  readonly subtitle: string;
  readonly facts: readonly Fact[];
  /** Codes of the countries at its borders. */
  readonly neighbours: readonly string[];
}

/** `href`: where more of it is to be found. */
export type Fact = readonly [label: string, value: string, href?: string];

/** Latitude and longitude in degrees. */
export type Place = readonly [number, number];

const number = new Intl.NumberFormat('en');

export const datasets: readonly Dataset[] = [
  {
    name: 'countries',
    title: 'Countries',
    singular: 'country',
    plural: 'countries',
    file: '/data/countries.jsonl',
    count: counts.countries,
    batch: 50,
    example: 'Deutschland',
    isFoundByName: true,
    about: 'Names in many languages, borders, currencies, capitals: about 2 KB of JSON for each.',
    describe: describeCountry,
  },
  {
    name: 'cities',
    title: 'Cities',
    singular: 'city',
    plural: 'cities',
    file: '/data/cities.jsonl',
    count: counts.cities,
    batch: 1000,
    example: 'san-diego',
    isFoundByName: false,
    about:
      'Every place with more than a thousand inhabitants: 20 MB of JSON, written in batches of a thousand documents.',
    describe: describeCity,
  },
];

export function placeOf(document: StoredDocument): Place | undefined {
  const latlng = document['latlng'];
  const [latitude, longitude] = Array.isArray(latlng) ? latlng : [];
  return typeof latitude === 'number' && typeof longitude === 'number' ? [latitude, longitude] : undefined;
}

/** The places of the documents that have one. */
export function placesOf(documents: readonly StoredDocument[]): readonly Place[] {
  return documents.map(placeOf).filter((place) => place !== undefined);
}

/** The name of a country, in English; empty if it has none. */
export function nameOf(document: Found): string {
  return text(at(document['name'], 'common'));
}

/** The address of a country's page. */
export function countryHash(id: string): string {
  return `#/countries/${encodeURIComponent(id)}`;
}

function describeCountry(document: StoredDocument): Description {
  const capital = texts(document['capital']).join(', ');
  const region = text(document['region']);
  const name = document['name'];
  return {
    title: nameOf(document) || document._id,
    neighbours: texts(document['borders']),
    subtitle: [capital, region].filter(Boolean).join(' · '),
    facts: withoutEmpty([
      ['Official name', text(at(name, 'official'))],
      ['Capital', capital],
      ['Part of', text(document['subregion']) || region],
      ['Languages', texts(document['languages']).join(', ')],
      [
        'Currency',
        values(document['currencies'])
          .map((currency) => text(at(currency, 'name')))
          .join(', '),
      ],
      ['Area', measured(document['area'], 'km²')],
      ['Domain', texts(document['tld']).join(', ')],
    ]),
  };
}

function describeCity(document: StoredDocument): Description {
  const region = text(document['region']);
  const country = text(document['country']);
  const place = placeOf(document);
  return {
    title: text(document['name']) || document._id,
    neighbours: [],
    subtitle: [region, country].filter(Boolean).join(' · '),
    facts: withoutEmpty([
      ['Country', country, countryHash(slug(country))],
      ['Region', region],
      ['Latitude', place ? inDegrees(place[0], 'N', 'S') : ''],
      ['Longitude', place ? inDegrees(place[1], 'E', 'W') : ''],
    ]),
  };
}

function withoutEmpty(facts: readonly Fact[]): readonly Fact[] {
  return facts.filter(([, value]) => value !== '');
}

function inDegrees(value: number, positive: string, negative: string): string {
  return `${Math.abs(value).toFixed(3)}° ${value < 0 ? negative : positive}`;
}

function measured(value: unknown, unit: string): string {
  return typeof value === 'number' ? `${number.format(value)} ${unit}` : '';
}

function at(value: unknown, member: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, member) : undefined;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function values(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

function texts(value: unknown): string[] {
  return values(value).map(text).filter(Boolean);
}
