/**
 * Uses the keys of an index in place of documents: conditions on its columns are tested on the keys, before documents are
 * read, and if the query tests and returns only its columns, no document is read at all.
 */
import type { CompareKeys } from '../../../base/collation/key-order.ts';
import { JsonCursor } from '../../../base/json/json-cursor.ts';
import { parseInTurns } from '../../../base/json/parse-in-steps.ts';
import { type MaybePromise, whenReady } from '../../../base/shared/maybe-promise.ts';
import type { StepBudget } from '../effort.ts';
import type { FindQuery } from '../find-query.ts';
import type { JsonIndex } from '../index-definition.ts';
import type { FieldPath } from '../selectors/field-path.ts';
import { Projection } from '../selectors/field-texts.ts';
import { conjunctsOf, type Selector } from '../selectors/selector.ts';
import { createTest, type Test } from '../selectors/selector-check.ts';

export class KeyTests {
  /** Whether these tests are the whole selector. */
  readonly isComplete: boolean;
  readonly #test: Test | undefined;

  constructor({ selector }: FindQuery, index: JsonIndex, compare: CompareKeys, budget?: StepBudget) {
    const columns = new Map(index.columns.map(({ field }, column) => [field, column]));
    const readKey = (key: unknown, path: FieldPath): unknown => {
      const column = columns.get(path.text);
      return Array.isArray(key) && column !== undefined ? key[column] : undefined;
    };
    const parts = conjunctsOf(selector);
    const testable = parts.filter((part) => hasAllFields(columns, part));
    this.isComplete = testable.length === parts.length;
    if (testable.length === 0) return;
    this.#test = createTest({ kind: 'and', parts: testable }, compare, { read: readKey, budget });
  }

  passes(keyText: string): MaybePromise<boolean> {
    return this.#test === undefined || whenReady(parseInTurns(keyText), this.#test);
  }
}

function hasAllFields(columns: ReadonlyMap<string, number>, selector: Selector): boolean {
  if (selector.kind === 'field') return columns.has(selector.path.text);
  return selector.parts.every((part) => hasAllFields(columns, part));
}

/** Writes the requested fields from keys. */
export class KeyProjection {
  readonly #projection: Projection;
  /** The column of each requested field; undefined for the document's id. */
  readonly #columns: readonly (number | undefined)[];

  private constructor(fields: readonly FieldPath[], columns: readonly (number | undefined)[]) {
    this.#projection = new Projection(fields);
    this.#columns = columns;
  }

  /** Returns undefined if the keys lack a requested field. */
  static of({ fields, conflicts }: FindQuery, index: JsonIndex): KeyProjection | undefined {
    if (fields === undefined || conflicts) return undefined;
    const columns = fields.map(({ text }) => index.columns.findIndex(({ field }) => field === text));
    if (fields.some(({ text }, position) => columns[position] === -1 && text !== '_id')) return undefined;
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

/** Returns the texts of a JSON array's elements. */
function elementsOf(text: string): string[] {
  const elements: string[] = [];
  const cursor = new JsonCursor(text);
  cursor.enter();
  while (cursor.nextElement()) elements.push(text.slice(cursor.valueStart, cursor.valueEnd));
  return elements;
}
