/**
 * The functions of views: maps, filters that are maps, and reduces. They work on batches, so that the border of the sandbox is crossed
 * once: documents come as texts in one string, and rows go as one string; each call of a reduce takes many groups.
 */

import { describe, Failure, isFatal, isOutOfMemory, log, toFailure } from './failures.ts';
import { compile, compiledOnce, designDocument } from './functions.ts';
import { SEPARATOR } from './protocol.ts';
import { type DocumentFunction, freezeDeep, hasOwn, isObject, parse, shorten, textOf } from './values.ts';

/** The rows of one map function for a batch. */
interface Rows {
  /** How many each document emitted. */
  readonly counts: number[];
  /** Keys whose text can wait until the batch ends; `MADE` stands for all others. */
  readonly keys: unknown[];
  readonly values: unknown[];
  /** JSON texts of the keys that are `MADE`. */
  readonly keyTexts: string[];
  readonly valueTexts: string[];
}

interface WithToJson {
  readonly toJSON?: unknown;
}

interface StoredDocument {
  readonly _id?: unknown;
}

const maps: DocumentFunction[] = [];

/** Where emit() puts rows; undefined while no map runs. */
let sink: Rows | undefined;

/** How many characters the present batch has emitted, in texts and strings. */
let emitted = 0;

/** A batch that has emitted this much ends with the current document; those after it come with the next one. */
const MAX_EMITTED = 4 * 1024 * 1024;

/** Stands in a row for a text that was made at once, which is in a separate list. */
const MADE = {};

/** Longer arrays are turned into text at once. */
const MAX_COPIED = 16;

/** The most keys or values in one text, and the length beyond which it is cut if it has several: that much is read there in one go. */
const MAX_PORTION = 1_000;
const MAX_PORTION_LENGTH = 256 * 1024;

/** Compiles a map function, and returns its index. */
export function addMap(source: string): string {
  return `${maps.push(compile('map', source)) - 1}`;
}

/** Makes emit() fail until the next map function runs. */
export function endMaps(): void {
  sink = undefined;
}

/** The helper `emit`. */
export function emit(key: unknown, value: unknown): void {
  if (sink === undefined) throw new TypeError('emit() is for map functions');
  const keptKey = toKept(key);
  const keptValue = toKept(value);
  // toJSON() may throw, or itself emit: a row is complete before it counts.
  const keyText = keptKey === MADE ? textOf(key) : undefined;
  const valueText = keptValue === MADE ? textOf(value) : undefined;
  const { keys, values, keyTexts, valueTexts } = sink;
  if (keyText !== undefined) {
    keyTexts[keyTexts.length] = keyText;
    emitted += keyText.length;
  }
  if (valueText !== undefined) {
    valueTexts[valueTexts.length] = valueText;
    emitted += valueText.length;
  }
  keys[keys.length] = keptKey;
  values[values.length] = keptValue;
}

/**
 * Returns what can wait until the batch ends, and is then turned into text all at once, which costs a fraction of one by one:
 * values that no function can change until then, that is plain ones, and copies of short arrays of them. `MADE` for all others.
 */
function toKept(value: unknown): unknown {
  if (isPlain(value)) return value;
  if (typeof value !== 'object' || !Array.isArray(value) || (value as WithToJson).toJSON !== undefined) return MADE;
  const { length } = value;
  if (length > MAX_COPIED) return MADE;
  const copy: unknown[] = [];
  for (let at = 0; at < length; at++) {
    const item: unknown = value[at];
    if (!isPlain(item)) return MADE;
    copy[at] = item;
  }
  return copy;
}

function isPlain(value: unknown): boolean {
  const kind = typeof value;
  if (kind === 'string') {
    emitted += (value as string).length;
    return true;
  }
  return kind === 'number' || kind === 'boolean' || value === null || value === undefined;
}

/**
 * Maps a batch. `chosen`: indexes of maps, separated by commas. `frozen`: `1` if documents must be frozen, so that no map changes them
 * for the next one. `text`: documents. Returns five fields for each map, for at least the first document.
 */
export function mapBatch(chosen: string, frozen: string, text: string): string {
  const functions = chosen.split(',').map((index) => maps[Number(index)] as DocumentFunction);
  const outputs = functions.map(createRows);
  const texts = text.split(SEPARATOR);
  emitted = 0;
  for (let at = 0; at < texts.length && emitted < MAX_EMITTED; at++) {
    const document = parseOrSkip(texts[at] as string);
    if (frozen === '1' && document !== undefined) freezeDeep(document);
    for (let index = 0; index < functions.length; index++) {
      const output = outputs[index] as Rows;
      const map = functions[index] as DocumentFunction;
      output.counts[at] = document === undefined ? 0 : mapOne(map, document, output);
    }
  }
  return outputs.map(toFields).join(SEPARATOR);
}

/** Filters by a view: returns `1` for each document for which its map emits, else `0`. */
export function filterByView(name: string, text: string): string {
  const views = hasOwn(designDocument, 'views') ? designDocument['views'] : undefined;
  const view = isObject(views) && hasOwn(views, name) ? views[name] : undefined;
  if (!isObject(view)) throw new Failure('not_found', '', 'missing_named_view');
  const map = compiledOnce(`map/${name}`, () => compile(`views.${name}.map`, view['map']));
  const passes = (document: string) => mapOne(map, parse(document) as StoredDocument, createRows()) > 0;
  return text
    .split(SEPARATOR)
    .map((document) => (passes(document) ? '1' : '0'))
    .join('');
}

function createRows(): Rows {
  return { counts: [], keys: [], values: [], keyTexts: [], valueTexts: [] };
}

function toFields({ counts, keys, values, keyTexts, valueTexts }: Rows): string {
  return [counts.join(','), toPortions(keys), keyTexts.join('\n'), toPortions(values), valueTexts.join('\n')].join(
    SEPARATOR,
  );
}

/** Returns JSON texts of arrays on lines, which together are the items. */
function toPortions(items: readonly unknown[]): string {
  const lines: string[] = [];
  let from = 0;
  do {
    addPortion(items, from, Math.min(from + MAX_PORTION, items.length), lines);
    from += MAX_PORTION;
  } while (from < items.length);
  return lines.join('\n');
}

function addPortion(items: readonly unknown[], from: number, to: number, lines: string[]): void {
  const text = textOf(items.slice(from, to));
  if (text.length <= MAX_PORTION_LENGTH || to - from < 2) {
    lines[lines.length] = text;
    return;
  }
  const middle = Math.floor((from + to) / 2);
  addPortion(items, from, middle, lines);
  addPortion(items, middle, to, lines);
}

/** Returns how many rows the document emitted. What it emitted before it failed is removed. */
function mapOne(map: DocumentFunction, document: StoredDocument, output: Rows): number {
  // The map may change the document.
  const id = document._id;
  const { keys, values, keyTexts, valueTexts } = output;
  const before = keys.length;
  const keysMade = keyTexts.length;
  const valuesMade = valueTexts.length;
  sink = output;
  try {
    map(document);
  } catch (thrown) {
    keys.length = values.length = before;
    keyTexts.length = keysMade;
    valueTexts.length = valuesMade;
    sink = undefined;
    onMapError(thrown, id);
  }
  sink = undefined;
  return keys.length - before;
}

function parseOrSkip(text: string): StoredDocument | undefined {
  try {
    return parse(text) as StoredDocument;
  } catch (thrown) {
    onMapError(thrown, shorten(text, 100));
    return undefined;
  }
}

/** Rethrows what ends the build; else, also if `require` failed, the document is left out of this view, and the log says so. */
function onMapError(thrown: unknown, id: unknown): void {
  if (thrown === 'fatal_error') {
    throw new Failure('function_error', 'map_runtime_error', "function raised 'fatal_error'");
  }
  if (isOutOfMemory(thrown) || isFatal(thrown)) throw toFailure(thrown);
  log(`a map function raised ${describe(thrown)} with the document ${textOf(id)}`);
}

const reducers: DocumentFunction[] = [];

/** Compiles a reduce function, and returns its index. */
export function addReducer(source: string): string {
  return `${reducers.push(compile('reduce', source)) - 1}`;
}

/** Takes the texts of each group's keys and values, alternating, and returns a line for each group. */
export function reduceBatch(index: string, text: string): string {
  const reduce = reducers[Number(index)] as DocumentFunction;
  const texts = text.split(SEPARATOR);
  const results: string[] = [];
  for (let at = 0; at < texts.length; at += 2) {
    results.push(reduceOne(reduce, parse(texts[at] as string), parse(texts[at + 1] as string), false));
  }
  return results.join('\n');
}

/** Takes the text of each group's earlier results, and returns a line for each group. */
export function rereduceBatch(index: string, text: string): string {
  const reduce = reducers[Number(index)] as DocumentFunction;
  return text
    .split(SEPARATOR)
    .map((values) => reduceOne(reduce, null, parse(values), true))
    .join('\n');
}

function reduceOne(reduce: DocumentFunction, keys: unknown, values: unknown, rereduce: boolean): string {
  try {
    return textOf(reduce(keys, values, rereduce));
  } catch (thrown) {
    if (thrown instanceof Failure || isOutOfMemory(thrown) || isFatal(thrown)) throw toFailure(thrown);
    log(`a reduce function raised ${describe(thrown)}`);
    return 'null';
  }
}
