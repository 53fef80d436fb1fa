/**
 * What an index's keys tell by themselves: conditions on its columns are tested on the key, before the document is
 * read; and where nothing but its columns is asked and shown, no document is read at all.
 */
import type { CompareKeys } from '../../collation/key-order.ts';
import { JsonCursor } from '../../json/json-cursor.ts';
import type { JsonIndex } from '../indexes/index-definition.ts';
import type { FindQuery } from '../searching/find-query.ts';
import type { FieldPath } from '../selectors/field-path.ts';
import { Projection } from '../selectors/field-texts.ts';
import { conjunctsOf, type Selector } from '../selectors/selector.ts';
import { createTest, type Test } from '../selectors/selector-test.ts';

export class KeyTests {
  /** Whether the key decides all that the selector asks. */
  readonly isComplete: boolean;
  readonly #tests: readonly Test[];

  constructor({ selector }: FindQuery, index: JsonIndex, compare: CompareKeys) {
    const places = new Map(index.columns.map(({ field }, place) => [field, place]));
    const readKey = (key: unknown, path: FieldPath): unknown => {
      const place = places.get(path.text);
      return Array.isArray(key) && place !== undefined ? key[place] : undefined;
    };
    const parts = conjunctsOf(selector);
    const decided = parts.filter((part) => isDecided(part, places));
    this.isComplete = decided.length === parts.length;
    this.#tests = decided.map((part) => createTest(part, compare, readKey));
  }

  get isEmpty(): boolean {
    return this.#tests.length === 0;
  }

  passes(keyText: string): boolean {
    if (this.isEmpty) return true;
    const key: unknown = JSON.parse(keyText);
    return this.#tests.every((test) => test(key));
  }
}

function isDecided(selector: Selector, places: ReadonlyMap<string, number>): boolean {
  if (selector.kind === 'field') return places.has(selector.path.text);
  return selector.parts.every((part) => isDecided(part, places));
}

/** Writes the fields that are asked for from keys alone. */
export class KeyProjection {
  readonly #projection: Projection;
  /** The column of each field; undefined for the document's id. */
  readonly #columns: readonly (number | undefined)[];

  private constructor(fields: readonly FieldPath[], columns: readonly (number | undefined)[]) {
    this.#projection = new Projection(fields);
    this.#columns = columns;
  }

  /** Undefined where the documents are needed. */
  static of({ fields, conflicts }: FindQuery, index: JsonIndex): KeyProjection | undefined {
    if (fields === undefined || conflicts) return undefined;
    const columns = fields.map(({ text }) => index.columns.findIndex(({ field }) => field === text));
    if (fields.some(({ text }, place) => columns[place] === -1 && text !== '_id')) return undefined;
    return new KeyProjection(
      fields,
      columns.map((column) => (column === -1 ? undefined : column)),
    );
  }

  write(keyText: string, idText: string): string {
    const elements = elementsOf(keyText);
    return this.#projection.write(this.#columns.map((column) => (column === undefined ? idText : elements[column])));
  }
}

/** The texts of a JSON array's elements. */
function elementsOf(text: string): string[] {
  const elements: string[] = [];
  const cursor = new JsonCursor(text);
  cursor.enter();
  while (cursor.nextElement()) elements.push(text.slice(cursor.valueStart, cursor.valueEnd));
  return elements;
}
