import { integerSetting } from '../../base/system/config.ts';
import { replicatorHandlers } from '../../http/replication/replicator-handlers.ts';
import { FairConnectionLimits, HostConnectionLimits } from '../../replication/connection-limits.ts';
import type { ReadFilter, RunReplication } from '../../replication/contract.ts';
import { ReplicationDocuments } from '../../replication/documents/replication-documents.ts';
import { Replicator } from '../../replication/jobs/replicator.ts';
import { readReplicatorSettings } from '../../replication/jobs/replicator-settings.ts';
import { PeerMemory } from '../../replication/peer-memory.ts';
import type { DeferredCode } from './contract.ts';

/** For requests and peers' responses, if the setting is unset. */
const DEFAULT_BYTES = 268_435_456;

/** The part that replicates, which uses the code that copies from one database to another. */
export function createReplicatorPart(run: RunReplication, readFilter: ReadFilter): DeferredCode['replicator'] {
  return ({ registry, config, tasks, ownBase, bytesInFlight, ...needs }) => {
    const { isBrowserFetch, mostConnections } = needs.host;
    const fair = mostConnections === undefined ? undefined : new FairConnectionLimits(mostConnections);
    const connectionLimits = isBrowserFetch === true ? new HostConnectionLimits() : fair;
    const bytes = () => integerSetting(config, 'httpd', 'max_bytes_in_flight') ?? DEFAULT_BYTES;
    const host = { ...needs.host, connectionLimits, memory: new PeerMemory(bytes, bytesInFlight) };
    const settings = () => readReplicatorSettings(config);
    const replicator = new Replicator({ run, readFilter, host, settings, tasks, ownBase });
    const { clock, log } = host;
    const documents = new ReplicationDocuments({
      ...{ registry, replicator, clock, log, settings },
      isAdmin: (name) => config.get('admins', name) !== undefined,
    });
    return {
      service: { replicator, documents },
      handlers: replicatorHandlers,
      followDocuments: () => documents.follow(),
      wake: () => {
        replicator.jobs.wake();
        documents.wake();
      },
      resume: () => replicator.resume(),
      get activity() {
        return replicator.jobs.activity;
      },
      close: async () => {
        await documents.close();
        await replicator.close();
      },
    };
  };
}
