/**
 * `settee/tanstack`: a collection of TanStack DB over a database. It shows the documents, follows their changes in any tab or by a sync, and writes what an
 * app changes.
 *
 *     const notesCollection = createCollection(setteeCollectionOptions({ database: notes }));
 */
import type { Database } from '../database-client/contract.ts';
import type { Stored } from '../interface/documents.ts';
import type { Selector } from '../interface/selectors.ts';
import { follow } from './shared-feed.ts';
import type {
  ConflictingChange,
  KeyFields,
  MutationParameters,
  Resolution,
  Row,
  SubsetOptions,
  SyncParameters,
  ViewRange,
} from './tanstack/contract.ts';
import { type RowSchema, type StandardSchema, schemaOfRows } from './tanstack/schema.ts';
import { SelectorReader } from './tanstack/selector-reader.ts';
import { type AnySelector, SelectorSource } from './tanstack/sources.ts';
import { Subsets } from './tanstack/subsets.ts';
import { SyncRun } from './tanstack/sync-run.ts';
import { ViewReader, wholeRange } from './tanstack/view-reader.ts';
import { type KeyRange, ViewSource } from './tanstack/view-source.ts';
import { Writer } from './tanstack/writer.ts';

export type {
  ConflictingChange,
  KeyFields,
  MutationType,
  NewAttachment,
  Resolution,
  Row,
  ViewRange,
} from './tanstack/contract.ts';
export type { RowSchema, StandardSchema } from './tanstack/schema.ts';

/** docs/tanstack.md#options */
export interface SetteeCollectionOptions<T extends object> {
  readonly database: Database<T>;
  /** The name of the collection, for TanStack DB. */
  readonly id?: string;
  /** Only the documents that it finds. Default: all, except design documents. */
  readonly selector?: Selector<Stored<T>>;
  /** `design/name`: only the documents for which that view has a row. Not with `selector`. */
  readonly view?: string;
  /** The keys of the rows. Not with `keyFields`. */
  readonly range?: ViewRange;
  /** On demand: the members that the view emits as its key, so that conditions on them become keys. */
  readonly keyFields?: KeyFields;
  /** Documents that have conflicting revisions have them in `_conflicts`. Default: false. */
  readonly conflicts?: boolean;
  /** `on-demand`: only the documents that queries ask for are requested. Default: `eager`, all. */
  readonly syncMode?: 'eager' | 'on-demand';
  /** On demand: creates an index for an order that has none. Default: false, the query fails with `no_usable_index`. */
  readonly createIndexes?: boolean;
  /** Decides what becomes of a change that the database has refused as a conflict. Default: docs/tanstack.md#conflicts */
  onConflict?(change: ConflictingChange<T>): Resolution<T> | Promise<Resolution<T>>;
  /** Reading failed: a `SetteeError`, or what `fetch` failed with. It is tried again by itself. */
  onError?(error: unknown): void;
}

/** With a schema, which says what the documents are. */
export interface SchemaCollectionOptions<Input extends object, Output extends object>
  extends Omit<SetteeCollectionOptions<Output>, 'database'> {
  readonly database: Database<NoInfer<Output>> | Database<Record<string, unknown>>;
  /** Checks what the app inserts and changes, before that is shown (docs/tanstack.md#a-schema). */
  readonly schema: StandardSchema<Input, Output>;
}

/** What `createCollection` of `@tanstack/db` takes. */
export interface SetteeCollectionConfig<T extends object> {
  readonly id?: string;
  readonly syncMode: 'eager' | 'on-demand';
  /** The order of strings in the database, so that a query which loads a part loads the right one. */
  readonly defaultStringCollation: { readonly stringSort: 'locale'; readonly locale: string };
  readonly sync: {
    readonly rowUpdateMode: 'full';
    readonly sync: (parameters: SyncParameters<Row<T>>) => {
      readonly cleanup: () => void;
      readonly loadSubset: (options: SubsetOptions) => Promise<void>;
      readonly unloadSubset: (options: SubsetOptions) => void;
    };
  };
  readonly getKey: (row: Row<T>) => string;
  readonly onInsert: (parameters: MutationParameters<Row<T>>) => Promise<void>;
  readonly onUpdate: (parameters: MutationParameters<Row<T>>) => Promise<void>;
  readonly onDelete: (parameters: MutationParameters<Row<T>>) => Promise<void>;
}

/** Sends no request before the collection is used. Throws a `TypeError` for options that exclude each other. */
export function setteeCollectionOptions<Input extends object, Output extends object>(
  options: SchemaCollectionOptions<Input, Output>,
): SetteeCollectionConfig<Output> & { readonly schema: RowSchema<Input, Output> };
export function setteeCollectionOptions<T extends object>(
  options: SetteeCollectionOptions<T>,
): SetteeCollectionConfig<T>;
export function setteeCollectionOptions<T extends object>(
  options: SetteeCollectionOptions<T> & { readonly schema?: StandardSchema<object, T> },
): SetteeCollectionConfig<T> & { readonly schema?: RowSchema<object, T> } {
  const { database, id, view, selector, conflicts = false, syncMode = 'eager', onConflict } = options;
  if (view !== undefined && selector !== undefined) {
    throw new TypeError('A collection over a view has no selector. Filter its rows in a query.');
  }
  if (options.keyFields !== undefined && (view === undefined || syncMode === 'eager' || options.range !== undefined)) {
    throw new TypeError(
      '"keyFields" needs "view" and "on-demand", and excludes "range": conditions of queries choose the keys.',
    );
  }
  const runs = new WeakMap<object, SyncRun<T>>();
  const writer = new Writer<T>({ database, conflicts, onConflict });
  const write = ({ transaction, collection }: MutationParameters<Row<T>>) =>
    writer.write(transaction.mutations as never, runs.get(collection));
  return {
    ...(id !== undefined && { id }),
    ...(options.schema && { schema: schemaOfRows(options.schema) }),
    syncMode,
    defaultStringCollation: { stringSort: 'locale', locale: 'en' },
    getKey: ({ _id }) => _id,
    sync: {
      rowUpdateMode: 'full',
      sync: (parameters) => {
        const started = startSync(options, parameters as never);
        runs.set(parameters.collection, started.run);
        return {
          loadSubset: started.loadSubset,
          unloadSubset: started.unloadSubset,
          cleanup: () => {
            started.end();
            runs.delete(parameters.collection);
          },
        };
      },
    },
    onInsert: write,
    onUpdate: write,
    onDelete: write,
  };
}

/** What is read, on demand and as a whole. */
function sourcesOf<T extends object>(options: SetteeCollectionOptions<T>) {
  const { database, view, range = {}, keyFields = [], conflicts = false, createIndexes = false } = options;
  if (view === undefined) {
    const selector = (options.selector ?? {}) as AnySelector;
    const subsets = new Subsets<T, AnySelector>(new SelectorReader({ database, selector, conflicts, createIndexes }));
    return { subsets, whole: new SelectorSource(database, selector, conflicts) };
  }
  const source = { database, view, conflicts };
  const subsets = new Subsets<T, readonly KeyRange[]>(new ViewReader({ ...source, keyFields, range }));
  return { subsets, whole: new ViewSource(source, [{ bounds: wholeRange(range) }]) };
}

function startSync<T extends object>(options: SetteeCollectionOptions<T>, parameters: SyncParameters<T>) {
  const { database, onError = () => undefined } = options;
  const isOnDemand = options.syncMode === 'on-demand';
  const { subsets, whole } = sourcesOf(options);
  const run = new SyncRun<T>({
    parameters,
    sources: () => (isOnDemand ? subsets.sources() : [whole]),
    combined: () => (isOnDemand ? subsets.combined() : whole),
    onError,
  });
  // There is nothing to wait for.
  if (isOnDemand) parameters.markReady();
  const leave = follow(database, run);
  return {
    run,
    loadSubset: (subset: SubsetOptions) =>
      new Promise<void>((resolve, reject) => {
        run.load(subsets.load(subset, (error) => (error === undefined ? resolve() : reject(error))));
      }),
    unloadSubset: (subset: SubsetOptions) => subsets.remove(subset),
    end: () => {
      leave();
      run.end();
    },
  };
}
