import { DatabaseError } from '../../errors/database-error.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import type { ActiveTasks } from '../../system/active-tasks.ts';
import type { maintenance } from './maintenance.ts';

/** What an open database needs now and then, and many never. */
export type Maintenance = typeof maintenance & {
  /** Where compactions are shown; without one they are not. */
  readonly tasks?: ActiveTasks | undefined;
};

/** Gives that to a database. */
export interface MaintenanceSource {
  /** What is at hand. */
  now(): Maintenance | undefined;
  /** Fails where it can't be loaded; that may be otherwise the next time. */
  load(): MaybePromise<Maintenance>;
}

export function withoutMaintenance(database: string): DatabaseError {
  return new DatabaseError('not_implemented', `${database} was opened without what maintains it.`);
}
