/**
 * Repacking of body pages, compaction, purging, writes for later: what many databases never need. Browsers load it on first use, so
 * that nothing but who brings it may import this for its values.
 */
import type { ActiveTasks } from '../../system/active-tasks.ts';
import { LaterWrites } from '../writing/delayed-writes.ts';
import { PurgeJob } from '../writing/purge-job.ts';
import { Compaction } from './compaction.ts';
import type { MaintenanceSource } from './maintenance-source.ts';
import { Repacker } from './repacker.ts';

export const maintenance = { Compaction, LaterWrites, PurgeJob, Repacker };

/** For those who have it at hand. */
export function maintenanceAtHand(tasks?: ActiveTasks): MaintenanceSource {
  const given = { ...maintenance, tasks };
  return { now: () => given, load: () => given };
}
