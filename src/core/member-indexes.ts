import type { Database } from '../database/store/contract.ts';
import { FollowedDatabase } from '../database/store/following/followed-database.ts';
import type { ViewIndexes } from '../queries/views/contract.ts';
import type { FollowedViewIndexesOptions } from '../queries/views/following/followed-view-indexes.ts';
import { followViewIndexes } from '../queries/views/following/followed-view-indexes.ts';
import { createViewIndexes, type ViewIndexesOptions } from '../queries/views/view-indexes.ts';

/** Creates the view indexes of a service that owns some databases, and reads the others: an index belongs to the owner of its database. */
export function openIndexesOfMember(options: ViewIndexesOptions & FollowedViewIndexesOptions): ViewIndexes {
  const owned = createViewIndexes(options);
  const followed = followViewIndexes(options);
  const of = (database: Database): ViewIndexes => (database instanceof FollowedDatabase ? followed : owned);
  return {
    open: (database, design) => of(database).open(database, design),
    temporary: (database, definition) => of(database).temporary(database, definition),
    cleanup: (database) => of(database).cleanup(database),
    build: (database, id) => of(database).build(database, id),
    forget: (name) => {
      owned.forget(name);
      followed.forget(name);
    },
    close: async (database) => {
      await owned.close(database);
      await followed.close(database);
    },
  };
}
