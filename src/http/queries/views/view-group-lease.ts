/** The index of a design document, for a response that is still being read after its handler has ended. */

import { DatabaseError } from '../../../base/errors/database-error.ts';
import { withEnd } from '../../../base/shared/maybe-promise.ts';
import type { Database, Snapshot } from '../../../database/store/contract.ts';
import type { UpdateMode, ViewGroup, ViewIndexes, ViewReader } from '../../../queries/views/contract.ts';
import { readDesign } from '../../documents/design-document.ts';
import type { Context } from '../../request/context.ts';
import type { ViewTraits } from './view-parameters.ts';

/** Opens an index. The caller releases what it returns. */
type OpenGroup = (database: Database) => ViewGroup | Promise<ViewGroup>;

/** One index with its database, and everything read from them. `release` frees all of it. */
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

  /** Returns a snapshot of the database, not older than any reader that was opened before. */
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

/** Makes a response from the index of the design document; releases the index if that fails. */
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
