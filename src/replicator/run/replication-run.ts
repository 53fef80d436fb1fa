/** Runs a replication: session after session, until one has come to its end. */
import type { RunReplication } from '../contract.ts';
import { ReplicationError } from '../failure.ts';
import { cancelled } from '../peers/asking/peer-client.ts';
import { sleep } from '../peers/asking/waiting.ts';
import { EndChanged } from './checkpoints.ts';
import { Figures } from './figures.ts';
import { Session } from './session.ts';

/** Before a session that follows one whose ends have changed: another `EndChanged` right behind it would be no accident. */
const PAUSE_MS = 100;
const MOST_PAUSES = 10;

export const runReplication: RunReplication = async (replication, checkpointId, host, observer, signal) => {
  const figures = new Figures(observer, () => host.clock.monotonic());
  const onIdle = (isIdle: boolean) => observer.idle(isIdle);
  try {
    for (let changes = 0; ; changes++) {
      try {
        return await new Session({ replication, checkpointId, host, figures, onIdle, signal }).run();
      } catch (failure) {
        if (!(failure instanceof EndChanged) || signal.aborted) throw failure;
        host.log.info(`replication: ${failure.message}; it goes on from the last checkpoint that both ends know`);
        if (changes >= MOST_PAUSES) throw changesAgain(failure);
        await sleep(PAUSE_MS * changes, signal);
      }
    }
  } catch (failure) {
    throw signal.aborted ? cancelled() : failure;
  } finally {
    figures.end();
  }
};

function changesAgain(failure: EndChanged): ReplicationError {
  return new ReplicationError('replication_failed', `${failure.message}, again and again`, { mayPass: true });
}
