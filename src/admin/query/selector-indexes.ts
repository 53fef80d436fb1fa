/** The indexes of selectors that a database has. */
import { ask, type Json, pathOf } from '../server/client.ts';
import { fieldNames } from './explain.ts';

export interface SelectorIndex {
  /** Without `_design/`. */
  readonly ddoc: string;
  readonly name: string;
  readonly fields: readonly string[];
  /** A selector as JSON: the index contains only what matches it. */
  readonly filter: string | undefined;
}

interface IndexRow {
  readonly ddoc: string | null;
  readonly name: string;
  readonly type: string;
  readonly def: { readonly fields?: readonly Json[]; readonly partial_filter_selector?: Json };
}

/** Without the index of all documents, which every database has. */
export async function listIndexes(database: string, signal?: AbortSignal): Promise<readonly SelectorIndex[]> {
  const { indexes } = await ask<{ readonly indexes: readonly IndexRow[] }>('GET', pathOf(database, '_index'), {
    signal,
    quiet: true,
  });
  return indexes.flatMap(({ ddoc, name, def }) =>
    ddoc === null
      ? []
      : [{ ddoc: ddoc.replace(/^_design\//, ''), name, fields: fieldNames(def.fields ?? []), filter: filterOf(def) }],
  );
}

function filterOf({ partial_filter_selector: filter }: IndexRow['def']): string | undefined {
  const text = filter === undefined ? '{}' : JSON.stringify(filter);
  return text === '{}' ? undefined : text;
}
