/** The index of a design document, for an answer that is still being read when its handler has ended. */

import { DatabaseError } from '../../../base/errors/database-error.ts';
import { withEnd } from '../../../base/shared/maybe-promise.ts';
import type { Database, Snapshot } from '../../../database/store/contract.ts';
import type { UpdateMode, ViewGroup, ViewIndexes, ViewReader } from '../../../queries/views/contract.ts';
import { readDesign } from '../../documents/design-document.ts';
import type { Context } from '../../request/context.ts';
import type { ViewTraits } from './view-parameters.ts';

/** Opens an index. Whoever calls it releases what it gives. */
type OpenGroup = (database: Database) => ViewGroup | Promise<ViewGroup>;

/** One index with its database, and whatever was read from them. All of it goes with `release`. */
export class ViewGroupLease {
  readonly database: Database;
  readonly group: ViewGroup;
  readonly #ends: (() => void)[];

  constructor(database: Database, group: ViewGroup, endLease: () => void) {
    this.database = database;
    this.group = group;
    this.#ends = [endLease, () => group.release()];
  }

  /** Fails with `not_found` "missing_named_view". */
  traitsOf(view: string): ViewTraits {
    const definition = this.group.views.get(view);
    if (definition === undefined) throw new DatabaseError('not_found', 'missing_named_view');
    const defaults = { ...this.group.options, ...definition.options };
    return { hasReduce: definition.reduce !== undefined, defaults };
  }

  async read(mode: UpdateMode): Promise<ViewReader> {
    const reader = await this.group.read(mode);
    this.#ends.push(() => reader.release());
    return reader;
  }

  /** Of the database, not older than any reader that was opened before. */
  snapshot(): Snapshot {
    const snapshot = this.database.snapshot();
    this.#ends.push(() => snapshot.release());
    return snapshot;
  }

  /** May be called more than once. */
  readonly release = (): void => {
    for (const end of this.#ends.splice(0).reverse()) end();
  };
}

/** Makes an answer from the index of the design document; it is released where that fails. */
export function withDesignGroup<T>(
  views: ViewIndexes,
  context: Context,
  database: string,
  design: string,
  use: (lease: ViewGroupLease) => Promise<T>,
): Promise<T> {
  const open: OpenGroup = async (opened) => {
    const snapshot = opened.snapshot();
    const document = await withEnd(
      () => readDesign(snapshot, design),
      () => snapshot.release(),
    );
    return views.open(opened, document);
  };
  return withGroup(context, database, open, use);
}

export async function withGroup<T>(
  context: Context,
  name: string,
  open: OpenGroup,
  use: (lease: ViewGroupLease) => Promise<T>,
): Promise<T> {
  const { database, release } = await context.services.registry.acquire(name);
  let end = release;
  try {
    const lease = new ViewGroupLease(database, await open(database), release);
    end = lease.release;
    return await use(lease);
  } catch (error) {
    end();
    throw error;
  }
}
