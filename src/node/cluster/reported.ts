/** What `_up` and `_prometheus` say about a server that shares its databases with other servers, or with readers. */
import type { Metric } from '../../base/system/contract.ts';
import type { Counters } from '../../base/system/counters.ts';
import type { Health } from '../../core/core.ts';
import type { Registry } from '../../database/registry/contract.ts';
import type { ReadersStatus } from '../forwarding/for-readers.ts';
import type { Cluster } from './cluster.ts';

/** The storage that the servers share. */
interface SharedStorage {
  /** Whether strict commits wait for a second machine; undefined if that is not known. */
  readonly hasSynchronousReplica: boolean | undefined;
  /** Another server that owns it. */
  readonly owner: { readonly address: string | undefined } | undefined;
}

export interface Reported {
  /** Of the storage and the list of databases. */
  readonly role: 'owner' | 'member';
  /** Undefined if only one server at a time can use the storage. */
  readonly shared: SharedStorage | undefined;
  /** Undefined if this server shares the storage with none that owns databases, or not yet. */
  readonly cluster: () => Cluster | undefined;
  readonly registry: () => Registry | undefined;
  /** Undefined if the server has no readers. */
  readonly readers: (() => ReadersStatus) | undefined;
  readonly counters: Counters;
}

/** Undefined if there is nothing to say. */
export function healthOf({ role, shared, cluster, registry, readers }: Reported): Health | undefined {
  if (shared === undefined) return readers && (() => ({ role }));
  return () => {
    const { hasSynchronousReplica: replica, owner } = shared;
    const ofStorage = { role, ...(replica !== undefined && { synchronous_replica: replica }) };
    const servers = cluster();
    if (servers === undefined) return ofStorage;
    if (servers.hasOtherOwner) return { status: 'standby', role: 'standby', owner: owner?.address ?? null };
    if (!servers.isMember) return { status: 'storage_unreachable', ...ofStorage, reason: LAPSED };
    const lag = lagOf(registry());
    return {
      ...ofStorage,
      ...(lag !== undefined && { lag_ms: lag }),
      owned_databases: registry()?.ownedCount ?? 0,
      servers: servers.size,
    };
  };
}

const LAPSED =
  'The server has not reached its storage for a while, and the others may have taken its databases. Try again in a moment; its log says more.';

/** In whole milliseconds; undefined for the owner of the list, which looks at nothing. */
function lagOf(registry: Registry | undefined): number | undefined {
  const lag = registry?.lagMs?.();
  return lag === undefined ? undefined : Math.round(lag);
}

/** Undefined if there is nothing to say. */
export function metricsOf(reported: Reported): (() => readonly Metric[]) | undefined {
  const { role, shared, readers } = reported;
  if (shared === undefined && readers === undefined) return undefined;
  const ownRole: Metric = {
    ...{ name: 'role', type: 'gauge', labels: { role }, value: 1 },
    help: 'whether this server owns the storage, or is a member beside the one that does',
  };
  return () => [ownRole, ...metricsOfReaders(reported), ...metricsOfCluster(reported)];
}

function metricsOfReaders({ readers, counters }: Reported): Metric[] {
  if (readers === undefined) return [];
  const { accepting, restarts, ownerRestarts } = readers();
  return [
    gauge('readers', 'processes of this server that accept requests', accepting),
    counter('reader_restarts', 'readers that were started in place of others that had ended', restarts),
    counter('reader_owner_restarts', 'owners of the databases that were started in place of others', ownerRestarts),
    counter('reader_forwarded_requests', 'requests that readers sent to the owner', counters.forwarded.value),
    counter('reader_forward_failures', 'of these, those that it did not answer', counters.forwardFailures.value),
  ];
}

function metricsOfCluster({ cluster, registry }: Reported): Metric[] {
  const servers = cluster();
  if (servers === undefined) return [];
  const { forwarded, failures, moves } = servers.counts;
  const lag = registry()?.lagMs?.();
  return [
    gauge('cluster_servers', 'servers that own databases of the storage', servers.size),
    gauge('cluster_links', 'other servers to which this one is connected', servers.connected),
    gauge('cluster_owned_databases', 'databases that this server has open as their owner', registry()?.ownedCount ?? 0),
    counter('cluster_forwarded_requests', 'requests that this server sent to others', forwarded),
    counter('cluster_forward_failures', 'of these, those that no server answered', failures),
    counter('cluster_moves', 'changes of servers or pins that this server has followed', moves),
    ...(lag === undefined
      ? []
      : [gauge('cluster_lag_seconds', 'since when no look at the files of other servers has succeeded', lag / 1_000)]),
  ];
}

function gauge(name: string, help: string, value: number): Metric {
  return { name, type: 'gauge', help, value };
}

function counter(name: string, help: string, value: number): Metric {
  return { name: `${name}_total`, type: 'counter', help, value };
}
