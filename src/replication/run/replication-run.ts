/** Where replications enter this folder: it runs them, and reads the filters that they name. */
import type { ReadFilter, RunReplication } from '../contract.ts';
import { cancelled, ReplicationError } from '../failure.ts';
import { sleep } from '../peers/client/pacing.ts';
import { openPeer } from '../peers/open-peer.ts';
import { userKey } from '../user-key.ts';
import { EndChanged } from './checkpoints.ts';
import { ReplicationStats } from './replication-stats.ts';
import { Session } from './session.ts';

/** Wait before a session that follows one whose ends have changed: another `EndChanged` right after it would be no accident. */
const PAUSE_MS = 100;
const MAX_PAUSES = 10;

/** Runs session after session, until one has finished. */
export const runReplication: RunReplication = async (replication, checkpointId, host, observer, signal) => {
  const figures = new ReplicationStats(observer, () => host.clock.monotonic());
  const onIdle = (isIdle: boolean) => observer.idle(isIdle);
  const ended = new AbortController();
  const abort = () => ended.abort(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  const memory = host.memory?.open(userKey(replication.user), () => ended.abort());
  try {
    for (let changes = 0; ; changes++) {
      try {
        return await new Session({
          ...{ replication, checkpointId, host, figures, onIdle, memory },
          signal: ended.signal,
        }).run();
      } catch (failure) {
        if (!(failure instanceof EndChanged) || ended.signal.aborted) throw failure;
        host.log.info(`replication: ${failure.message}; it continues from the last checkpoint that both ends have`);
        if (changes >= MAX_PAUSES) throw changesAgain(failure);
        await sleep(PAUSE_MS * changes, ended.signal);
      }
    }
  } catch (failure) {
    throw signal.aborted ? cancelled() : (memory?.failure ?? failure);
  } finally {
    signal.removeEventListener('abort', abort);
    memory?.end();
    figures.end();
  }
};

function changesAgain(failure: EndChanged): ReplicationError {
  return new ReplicationError(
    'replication_failed',
    `${failure.message}, several times in a row. Find out what replaces or restores it, and stop that.`,
    {
      isRetryable: true,
    },
  );
}

export const readFilter: ReadFilter = async (replication, filter, host, signal) => {
  const [design, name, ...more] = filter.replace(/^_design\//, '').split('/');
  if (design === undefined || name === undefined || more.length > 0) {
    throw new ReplicationError('not_found', `the filter ${filter} must have the form design/name`, {
      isRetryable: false,
    });
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
