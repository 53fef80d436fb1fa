import type { DocId } from '../../../database/documents/contract.ts';
import type { TreeEntry } from '../../../storage/btree/contract.ts';
import type { ViewRow } from '../contract.ts';
import type { RowKey } from '../trees/row-key.ts';

/** An entry of a row tree as a row of the view. */
export class StoredRow implements ViewRow {
  readonly valueText: string;
  readonly #key: RowKey;

  constructor(key: RowKey, valueText: string) {
    this.#key = key;
    this.valueText = valueText;
  }

  get id(): DocId {
    return this.#key.id;
  }

  get idText(): string {
    return this.#key.idText;
  }

  get keyText(): string {
    return this.#key.keyText;
  }
}

/** Returns the first `limit` entries as rows. */
export function toRows(entries: readonly TreeEntry<RowKey>[], limit: number): ViewRow[] {
  const rows: ViewRow[] = [];
  for (const { key, value } of entries) {
    if (rows.length >= limit) break;
    rows.push(new StoredRow(key, value));
  }
  return rows;
}
