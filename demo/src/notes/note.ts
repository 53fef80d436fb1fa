/** What a field note is, how its document stores it, and its words for the search. Documents may have been edited to anything. */
import type { Content, StoredDocument } from '../data/database.ts';

/** Latitude and longitude in degrees. */
export type Place = readonly [latitude: number, longitude: number];

export interface Note {
  /** The first line is its title. */
  readonly text: string;
  readonly kind: string;
  readonly tags: readonly string[];
  readonly place: Place | undefined;
  /** As on the clock where it was written: `2026-06-01T09:30`. */
  readonly time: string;
  /** The device that wrote this version. */
  readonly by: string;
}

export interface Photo {
  readonly content_type: 'image/jpeg';
  /** In base64. */
  readonly data: string;
}

/** The names of a note's two attachments. */
export const PHOTO = 'photo.jpg';
export const THUMBNAIL = 'thumbnail.jpg';

export const kinds: readonly { readonly name: string; readonly title: string }[] = [
  { name: 'animal', title: 'Animal' },
  { name: 'plant', title: 'Plant' },
  { name: 'weather', title: 'Weather' },
  { name: 'view', title: 'View' },
  { name: 'people', title: 'People' },
];

export function readNote(document: StoredDocument): Note {
  const { text, kind, tags, latlng, time, by } = document as Readonly<Record<string, unknown>>;
  return {
    text: asText(text),
    kind: asText(kind),
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [],
    place: asPlace(latlng),
    time: asText(time),
    by: asText(by),
  };
}

/** The document's members, without id, revision and attachments. */
export function contentOf({ text, kind, tags, place, time, by }: Note): Content {
  return { type: 'note', text, kind, tags, ...(place && { latlng: place }), time, by };
}

export function asPlace(value: unknown): Place | undefined {
  const [latitude, longitude] = Array.isArray(value) ? value : [];
  if (typeof latitude !== 'number' || typeof longitude !== 'number') return undefined;
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? [latitude, longitude] : undefined;
}

export function titleOf(text: string): string {
  return text.trim().split('\n', 1)[0]?.trim() || 'A note without words';
}

export function kindTitle(kind: string): string {
  return kinds.find(({ name }) => name === kind)?.title ?? (kind === '' ? 'No kind' : kind);
}

/** `48.2° N, 16.4° E`. */
export function formatPlace([latitude, longitude]: Place): string {
  const degrees = (value: number, positive: string, negative: string) =>
    `${Math.abs(value).toFixed(1)}° ${value < 0 ? negative : positive}`;
  return `${degrees(latitude, 'N', 'S')}, ${degrees(longitude, 'E', 'W')}`;
}

const day = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' });

/** `1 Jun, 09:30`; what is no time stays as it is. */
export function formatNoteTime(time: string): string {
  const [date = '', clock = ''] = time.split('T');
  return clock === '' ? time : `${formatDay(date)}, ${clock.slice(0, 5)}`;
}

/** `date`: as in `2026-06-01`. */
export function formatDay(date: string): string {
  const ms = Date.parse(`${date}T12:00`);
  return Number.isNaN(ms) ? date : day.format(ms);
}

/** The clock of this device, as notes store it. */
export function localTime(date: Date): string {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Words separated by commas, each once. */
export function parseTags(text: string): readonly string[] {
  return [...new Set(text.split(',').map((tag) => tag.trim().toLowerCase()))].filter((tag) => tag !== '');
}

/** Lower-case words without accents, each once: the same as the view `words` emits of a text. */
export function wordsOf(text: string): readonly string[] {
  const plain = text.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '');
  return [...new Set(plain.match(/[\p{L}\p{N}]+/gu) ?? [])];
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
