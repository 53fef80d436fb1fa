import { compareCodePoints } from '../../../base/collation/code-points.ts';
import type { CompareKeys } from '../../../base/collation/key-order.ts';
import type { SortTexts } from '../../../base/collation/sort-text.ts';
import { QUOTE } from '../../../base/json/characters.ts';
import { stringValue } from '../../../base/json/strings.ts';
import type { DocId } from '../../../database/documents/contract.ts';

/** Between the parts of a key's text. JSON texts don't contain it, because they escape control characters. */
const SEPARATOR = '\u001f';

/** Numbers of bounds, which no row has: a bound is before or after all rows with its key, or with its key and id. */
const BEFORE_ALL = -1;
const AFTER_ALL = Number.POSITIVE_INFINITY;

/**
 * A key of a row tree: the emitted key, the document that emitted it, and the number of the row among those of the document.
 * It is stored as a text: the JSON texts of key and id, and the number unless it is 0. The parts are decoded on demand,
 * because most rows are passed on as texts.
 *
 * The bounds of ranges are keys as well: without an id (before or after all rows with the key), or with an id and a number
 * that no row has.
 */
export class RowKey {
  readonly text: string;
  /** Orders most rows without their keys (`SortTexts`); undefined if the key has none. */
  readonly sortText: string | undefined;
  #value: unknown;
  #id: DocId | undefined;
  #idStart: number;
  #idEnd: number;

  constructor(text: string, value?: unknown, id?: DocId, sortText?: string) {
    this.text = text;
    this.sortText = sortText;
    this.#value = value;
    this.#id = id;
    this.#idStart = 0;
    this.#idEnd = 0;
  }

  /** Creates a key. `idText`: the JSON text of `id`; `number`: of the row among those of the document, from 0. */
  static of(keyText: string, id: DocId, idText: string, number: number, sortTexts?: SortTexts): RowKey {
    const value = parseKey(keyText);
    const text = keyText + SEPARATOR + idText;
    return new RowKey(number === 0 ? text : text + SEPARATOR + number, value, id, sortTexts?.of(value));
  }

  /** Returns the bound before (or after) all rows with this key, or with this key and id. */
  static bound(value: unknown, id: string | undefined, after: boolean): RowKey {
    const number = after ? AFTER_ALL : BEFORE_ALL;
    const idText = id === undefined ? '' : JSON.stringify(id);
    // The value is passed on, because some can't be read from the text: 1e400 is Infinity, which JSON writes as null.
    return new RowKey(JSON.stringify(value) + SEPARATOR + idText + SEPARATOR + number, value);
  }

  /** Returns the bound before all rows with this key, whose JSON text is `keyText`. */
  static beforeAll(keyText: string, value: unknown): RowKey {
    return new RowKey(`${keyText}${SEPARATOR}${SEPARATOR}${BEFORE_ALL}`, value);
  }

  /** JSON text of the emitted key. */
  get keyText(): string {
    this.#cut();
    return this.text.slice(0, this.#idStart - 1);
  }

  /** The emitted key. */
  get value(): unknown {
    if (this.#value === undefined) this.#value = parseKey(this.keyText);
    return this.#value;
  }

  /** JSON text of the document's id; empty for a bound without one. */
  get idText(): string {
    this.#cut();
    return this.text.slice(this.#idStart, this.#idEnd);
  }

  /** Empty for a bound without one. */
  get id(): DocId {
    this.#id ??= this.#parseId();
    return this.#id;
  }

  /** The number of the row among those of the document, from 0. */
  get number(): number {
    this.#cut();
    return this.#idEnd >= this.text.length ? 0 : Number(this.text.slice(this.#idEnd + 1));
  }

  /** Returns whether it is a bound without an id, which is before or after all rows with its key. */
  get isBoundOfKey(): boolean {
    // The text of a document's first row ends with its id.
    if (this.text.charCodeAt(this.text.length - 1) === QUOTE) return false;
    this.#cut();
    return this.#idStart === this.#idEnd;
  }

  #parseId(): DocId {
    const { idText } = this;
    return (idText === '' ? '' : stringValue(idText)) as DocId;
  }

  #cut(): void {
    if (this.#idStart > 0) return;
    this.#idStart = this.text.indexOf(SEPARATOR) + 1;
    const end = this.text.indexOf(SEPARATOR, this.#idStart);
    this.#idEnd = end < 0 ? this.text.length : end;
  }
}

/** Parses a key. Most keys are plain strings, for which the parser is not needed. */
function parseKey(text: string): unknown {
  return text.charCodeAt(0) === QUOTE ? stringValue(text) : JSON.parse(text);
}

/** Orders rows by key, then by document id (by code point), then by number. */
export function compareRows(left: RowKey, right: RowKey, compareKeys: CompareKeys): number {
  const order = compareRowKeys(left, right, compareKeys);
  if (order !== 0) return order;
  if (left.isBoundOfKey || right.isBoundOfKey) return sideOf(left) - sideOf(right);
  return compareTails(left, right);
}

/** Orders rows by key alone. */
export function compareRowKeys(left: RowKey, right: RowKey, compareKeys: CompareKeys): number {
  const [leftText, rightText] = [left.sortText, right.sortText];
  if (leftText !== undefined && rightText !== undefined) {
    if (leftText < rightText) return -1;
    if (leftText > rightText) return 1;
  }
  return compareKeys(left.value, right.value);
}

/** Orders rows whose keys are equal. None of them may be a bound without an id. */
export function compareTails(left: RowKey, right: RowKey): number {
  return compareCodePoints(left.id, right.id) || compareNumbers(left.number, right.number);
}

/** Returns -1 for a bound before the rows with its key, 1 for a bound after them, and 0 for a row. */
function sideOf(key: RowKey): number {
  if (!key.isBoundOfKey) return 0;
  return key.number < 0 ? -1 : 1;
}

function compareNumbers(left: number, right: number): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
