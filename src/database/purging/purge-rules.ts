/** What decides about the purges of one database: its own object of `_auto_purge`, and the settings of all databases. */
import { isObject, ownMember } from '../../base/json/objects.ts';
import type { Config } from '../../base/system/contract.ts';
import { parsePeriod, periodSetting } from '../../base/system/periods.ts';

export interface PurgeRules {
  /** Seconds for which tombstones are kept; infinite if they are kept for good. */
  readonly ttl: number;
  /** Seconds of silence after which a peer is forgotten; may be infinite. */
  readonly peerTtl: number;
  /** `_local` documents that do not count as peers. */
  readonly ignored: ReadonlySet<string>;
}

/** Half a year, if the setting is unset. */
const DEFAULT_PEER_TTL = 15_552_000;

/** `autoPurge`: the database's object, as JSON text that was checked when it was set. */
export function purgeRulesOf(autoPurge: string, config: Config): PurgeRules {
  const parsed: unknown = JSON.parse(autoPurge);
  const object = isObject(parsed) ? parsed : {};
  const own = ownMember(object, 'deleted_document_ttl');
  const ignored = ownMember(object, 'ignored_peers');
  return {
    ttl: (typeof own === 'string' ? parsePeriod(own) : defaultTtl(config)) ?? Number.POSITIVE_INFINITY,
    peerTtl: periodSetting(config, 'auto_purge', 'peer_ttl') ?? DEFAULT_PEER_TTL,
    ignored: new Set(Array.isArray(ignored) ? ignored.filter((id) => typeof id === 'string') : []),
  };
}

/** Returns how long tombstones are kept in databases that do not say it themselves, in seconds; undefined if that is for good. */
export function defaultTtl(config: Config): number | undefined {
  const ttl = periodSetting(config, 'auto_purge', 'deleted_document_ttl');
  return ttl === Number.POSITIVE_INFINITY ? undefined : ttl;
}
