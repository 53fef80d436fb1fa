import type { ReadFilter } from '../contract.ts';
import { ReplicationError } from '../failure.ts';
import { openPeer } from '../peers/open-peer.ts';
import { userKey } from '../user-key.ts';

export const readFilter: ReadFilter = async (replication, filter, host, signal) => {
  const [design, name, ...more] = filter.replace(/^_design\//, '').split('/');
  if (design === undefined || name === undefined || more.length > 0) {
    throw new ReplicationError('not_found', `${filter} is no filter of the form design/name`, { isRetryable: false });
  }
  // A failure of the memory is a failure of the request.
  const memory = host.memory?.open(userKey(replication.user), () => undefined);
  try {
    return await openPeer(replication.source, replication, host, { side: 'source', signal, memory }).filterSource(
      design,
      name,
    );
  } finally {
    memory?.end();
  }
};
