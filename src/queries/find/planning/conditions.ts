import { type CompareKeys, createKeyOrder } from '../../../base/collation/key-order.ts';
import type { FindQuery } from '../queries/find-query.ts';
import {
  conjunctsOf,
  type FieldCondition,
  type Junction,
  requiredFields,
  type Selector,
} from '../selectors/selector.ts';
import { type ValueRange, valueRange } from '../selectors/value-range.ts';

/** Values, one of which the field has. */
export interface ListedField {
  readonly values: readonly unknown[];
  /** Whether an array that contains one of them also fulfils the condition. */
  readonly inArrays: boolean;
}

/** The conditions of a query that every found document fulfils, by field. */
export class Conditions {
  readonly #byField = new Map<string, FieldCondition[]>();
  readonly #compare: CompareKeys;
  readonly #listed = new Map<string, ListedField>();
  /** The ranges that were already requested. */
  readonly #ranges = new Map<string, ValueRange | undefined>();
  /** The fields that every found document has. */
  readonly required: ReadonlySet<string>;

  constructor({ selector }: Pick<FindQuery, 'selector'>, compare: CompareKeys) {
    this.#compare = compare;
    this.required = requiredFields(selector);
    for (const part of conjunctsOf(selector)) {
      this.#addListed(part);
      if (part.kind !== 'field') continue;
      const known = this.#byField.get(part.path.text);
      if (known === undefined) this.#byField.set(part.path.text, [part]);
      else known.push(part);
    }
  }

  #addListed(part: Selector): void {
    const first = part.kind === 'field' ? part : part.parts[0];
    if (first?.kind !== 'field') return;
    const field = first.path.text;
    const listed = part.kind === 'field' ? listOf(part) : alternativesOf(part, field);
    const known = this.#listed.get(field);
    if (listed === undefined || (known !== undefined && known.values.length <= listed.values.length)) return;
    this.#listed.set(field, listed);
  }

  /** Returns the shortest list that contains the field's value in all found documents. */
  listed(field: string): ListedField | undefined {
    return this.#listed.get(field);
  }

  of(field: string): readonly FieldCondition[] {
    return this.#byField.get(field) ?? [];
  }

  /**
   * Returns the range of a field in the order of collation, which is that of indexes. Conditions on ids follow another order, so
   * ids have a range only if they allow a single value.
   */
  range(field: string): ValueRange | undefined {
    if (!this.#ranges.has(field)) this.#ranges.set(field, this.#findRange(field));
    return this.#ranges.get(field);
  }

  #findRange(field: string): ValueRange | undefined {
    const range = valueRange(this.of(field), field === '_id' ? createKeyOrder('raw') : this.#compare);
    return field === '_id' && range?.isSingle === false ? undefined : range;
  }

  /** Returns whether the field has the same value in all found documents. */
  isConstant(field: string): boolean {
    return this.range(field)?.isSingle === true;
  }

  /** Returns fields whose conditions an index could narrow down, those with a single value first. */
  indexable(): readonly string[] {
    const fields = [...this.#byField.keys()].filter((field) => this.range(field) !== undefined);
    return [...fields.filter((field) => this.isConstant(field)), ...fields.filter((field) => !this.isConstant(field))];
  }

  get compare(): CompareKeys {
    return this.#compare;
  }
}

function listOf({ condition: { operator, argument } }: FieldCondition): ListedField | undefined {
  return operator === '$in' && Array.isArray(argument) ? { values: argument, inArrays: true } : undefined;
}

/** Returns the values if each of the alternatives is a value of that field. */
function alternativesOf({ kind, parts }: Junction, field: string): ListedField | undefined {
  const values: unknown[] = [];
  for (const part of parts) {
    if (part.kind !== 'field' || part.path.text !== field || part.condition.operator !== '$eq') return undefined;
    values.push(part.condition.argument);
  }
  return kind === 'or' ? { values, inArrays: false } : undefined;
}
