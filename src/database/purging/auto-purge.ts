/** What automatic purges do, under the settings of the service. */
import type { Clock } from '../../base/shared/clock.ts';
import { positiveSetting } from '../../base/system/config.ts';
import type { Config, Log } from '../../base/system/contract.ts';
import type { Database } from '../store/contract.ts';
import type { PurgePlan } from './contract.ts';
import { decodeNotes } from './purge-notes.ts';
import { planPurge } from './purge-plan.ts';
import { purgeRulesOf } from './purge-rules.ts';
import { nowSeconds, type PurgeResult, purgeOld } from './purge-run.ts';

/** If the setting is unset. */
const DEFAULT_BATCH_SIZE = 1_000;

export interface PurgeOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the service ends: then the purge does, too. */
  isEnded(): boolean;
}

/** Purges the database once; does nothing if its tombstones are kept for good. */
export async function purgeOnce(database: Database, { config, ...others }: PurgeOptions): Promise<PurgeResult> {
  const rules = purgeRulesOf(database.autoPurge, config);
  if (!Number.isFinite(rules.ttl)) return { purged: 0, isComplete: true };
  const batchSize = positiveSetting(config, 'auto_purge', 'max_batch_size') ?? DEFAULT_BATCH_SIZE;
  return purgeOld(database, { rules, batchSize, ...others });
}

/** See `AutoPurge.plan`. */
export async function planOf(database: Database, config: Config, clock: Clock): Promise<PurgePlan> {
  const rules = purgeRulesOf(database.autoPurge, config);
  return planPurge(database, rules, decodeNotes(await database.purgeNotes()), nowSeconds(clock));
}
