/** What documents contain: their fields, the types of these, how often each occurs, and what is unusual. */
import type { Json, JsonObject } from '../server/client.ts';

export type TypeName = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';

export interface TypeShare {
  readonly type: TypeName;
  /** Documents in which the field has this type. */
  readonly count: number;
}

export interface Outlier {
  /** What is unusual. */
  readonly what: string;
  /** Some of the documents. */
  readonly ids: readonly string[];
  readonly count: number;
}

export interface Field {
  /** Names joined by dots; `[]` stands for the elements of an array. */
  readonly path: string;
  /** Documents that have the field. */
  readonly count: number;
  /** The most frequent first. */
  readonly types: readonly TypeShare[];
  /** Range of numbers, common texts, lengths: in words; empty if there is nothing to say. */
  readonly values: string;
  readonly outliers: readonly Outlier[];
}

/** What is in less than this share of the documents is unusual. */
const RARE = 0.05;
/** With fewer documents nothing is called unusual. */
const ENOUGH = 20;
/** Objects and arrays around a field. */
const MAX_DEPTH = 4;
const MAX_FIELDS = 500;
/** Different texts of a field that are counted. */
const MAX_VALUES = 1_000;
const SHOWN_IDS = 3;
const COMMON = 4;

interface Collected {
  readonly ids: Set<string>;
  readonly idsByType: Map<TypeName, Set<string>>;
  readonly numbers: { readonly id: string; readonly value: number }[];
  /** How often each text occurs; texts beyond the first thousand are not counted. */
  readonly texts: Map<string, number>;
  lengths: { shortest: number; longest: number } | undefined;
}

/** Returns the fields in the order in which they were first seen. */
export function fieldsOf(documents: readonly JsonObject[]): readonly Field[] {
  const all = new Map<string, Collected>();
  for (const doc of documents) collectMembers(all, doc, '', `${doc._id}`, 0);
  return [...all].map(([path, collected]) => toField(path, collected, documents.length));
}

function collectMembers(all: Map<string, Collected>, value: JsonObject, prefix: string, id: string, depth: number) {
  for (const [name, member] of Object.entries(value)) {
    if (depth === 0 && (name === '_id' || name === '_rev')) continue;
    if (member !== undefined) collect(all, `${prefix}${name.replaceAll('.', '\\.')}`, member, id, depth);
  }
}

function collect(all: Map<string, Collected>, path: string, value: Json, id: string, depth: number): void {
  const found = all.get(path) ?? createCollected();
  if (!all.has(path)) {
    if (all.size >= MAX_FIELDS) return;
    all.set(path, found);
  }
  const type = typeOf(value);
  found.ids.add(id);
  const ids = found.idsByType.get(type) ?? new Set<string>();
  found.idsByType.set(type, ids.add(id));
  if (typeof value === 'number') found.numbers.push({ id, value });
  if (typeof value === 'string') addText(found, value);
  if (depth >= MAX_DEPTH) return;
  if (Array.isArray(value))
    for (const element of value.slice(0, 100)) collect(all, `${path}[]`, element, id, depth + 1);
  else if (typeof value === 'object' && value !== null)
    collectMembers(all, value as JsonObject, `${path}.`, id, depth + 1);
}

function createCollected(): Collected {
  return { ids: new Set(), idsByType: new Map(), numbers: [], texts: new Map(), lengths: undefined };
}

function addText(found: Collected, text: string): void {
  const { shortest = text.length, longest = text.length } = found.lengths ?? {};
  found.lengths = { shortest: Math.min(shortest, text.length), longest: Math.max(longest, text.length) };
  const count = found.texts.get(text);
  if (count !== undefined || found.texts.size < MAX_VALUES) found.texts.set(text, (count ?? 0) + 1);
}

function typeOf(value: Json): TypeName {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'boolean' || type === 'number' || type === 'string' ? type : 'object';
}

function toField(path: string, collected: Collected, documents: number): Field {
  const types = [...collected.idsByType]
    .map(([type, { size }]) => ({ type, count: size }))
    .sort((one, other) => other.count - one.count);
  return {
    path,
    count: collected.ids.size,
    types,
    values: [numbersText(collected), textsText(collected)].filter((text) => text !== '').join('; '),
    outliers: documents < ENOUGH ? [] : outliersOf(path, collected, types, documents),
  };
}

function numbersText({ numbers }: Collected): string {
  if (numbers.length === 0) return '';
  const values = numbers.map(({ value }) => value);
  // Not Math.min(...values): arguments are limited.
  const least = values.reduce((one, other) => Math.min(one, other));
  const greatest = values.reduce((one, other) => Math.max(one, other));
  return least === greatest ? `${least}` : `${least} to ${greatest}`;
}

function textsText({ texts, lengths }: Collected): string {
  if (lengths === undefined) return '';
  const common = [...texts].sort(([, one], [, other]) => other - one).slice(0, COMMON);
  const isRepeated = common.some(([, count]) => count > 1) && texts.size < MAX_VALUES;
  if (texts.size <= COMMON || (isRepeated && texts.size <= 20))
    return `${common.map(([text]) => short(text)).join(', ')}${texts.size > COMMON ? `, ${texts.size - COMMON} more` : ''}`;
  const { shortest, longest } = lengths;
  const length = shortest === longest ? `${longest}` : `${shortest} to ${longest}`;
  const different = texts.size < MAX_VALUES ? `${texts.size} different texts` : 'many different texts';
  return `${different} of ${length} characters`;
}

function short(text: string): string {
  return `“${text.length > 24 ? `${text.slice(0, 24)}…` : text}”`;
}

function outliersOf(
  path: string,
  { ids, idsByType, numbers }: Collected,
  types: readonly TypeShare[],
  documents: number,
): readonly Outlier[] {
  const outliers: Outlier[] = [];
  // The elements of an array are as frequent as the array.
  if (ids.size < RARE * documents && !path.includes('[]')) outliers.push(toOutlier('rare field', [...ids]));
  for (const { type, count } of types) {
    if (count < RARE * ids.size) outliers.push(toOutlier(type, [...(idsByType.get(type) ?? [])]));
  }
  const far = farNumbers(numbers);
  if (far.length > 0) outliers.push(toOutlier('far from the others', far));
  return outliers;
}

function toOutlier(what: string, ids: readonly string[]): Outlier {
  return { what, ids: ids.slice(0, SHOWN_IDS), count: ids.length };
}

/** Documents whose number is more than three times the middle half's width away from it. */
function farNumbers(numbers: Collected['numbers']): readonly string[] {
  if (numbers.length < ENOUGH) return [];
  const sorted = numbers.map(({ value }) => value).sort((one, other) => one - other);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  const width = at(0.75) - at(0.25);
  if (width === 0) return [];
  const far = numbers.filter(({ value }) => value < at(0.25) - 3 * width || value > at(0.75) + 3 * width);
  return [...new Set(far.map(({ id }) => id))];
}
