import type { ReadFilter } from '../contract.ts';
import { ReplicationError } from '../failure.ts';
import { openPeer } from '../peers/open-peer.ts';

export const readFilter: ReadFilter = async (replication, filter, host, signal) => {
  const [design, name, ...more] = filter.replace(/^_design\//, '').split('/');
  if (design === undefined || name === undefined || more.length > 0) {
    throw new ReplicationError('not_found', `${filter} is no filter of the form design/name`, { mayPass: false });
  }
  return openPeer(replication.source, replication, host, signal).filterSource(design, name);
};
