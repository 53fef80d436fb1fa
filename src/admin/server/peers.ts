/** Where a database is copied to: whom a write reaches. */
import { thisServer } from './where.ts';

export interface Peer {
  readonly target: string;
  readonly isContinuous: boolean;
  readonly stateText: string;
}

/** Of the list of replications. */
interface Replication extends Peer {
  readonly source: string;
  /** The server's word: `running`, `completed`, … */
  readonly state: string;
}

/** The targets of those replications that copy the database, or will. `home`: the address of the server, without its scheme. */
export function peersOf(database: string, replications: readonly Replication[], home: string): readonly Peer[] {
  const isOver = ({ state }: Replication) => state === 'completed' || state === 'failed';
  return replications
    .filter((one) => !isOver(one) && isDatabase(one.source, database, home))
    .map(({ target, isContinuous, stateText }) => ({ target, isContinuous, stateText }));
}

/** Replications name a database of their own server by its name or by its address. */
function isDatabase(source: string, database: string, home: string): boolean {
  return [database, `${home}${encodeURIComponent(database)}`, `${home}${database}`].includes(source);
}

/** What a review says of a design document that is stored for the first time. */
export const REPLICATES = 'replicates to peers like any other document';

/** Peers that the sentence names. */
const MAX_NAMED = 5;

/** Whom a write to the database reaches, in a sentence. `peers`: undefined if the replications can't be read. */
export function peerSentence(peers: readonly Peer[] | undefined): string {
  const others = 'Peers that pull from here get the change, too.';
  if (peers === undefined) return `This replicates to peers. Which ones can’t be seen without admin rights. ${others}`;
  if (peers.length === 0) return `No replication of ${thisServer()} copies the database elsewhere. ${others}`;
  const named = peers.slice(0, MAX_NAMED).map(({ target, isContinuous, stateText }) => {
    return `${target} (${isContinuous ? 'continuously' : 'once'}; now: ${stateText.toLowerCase()})`;
  });
  const more = peers.length > MAX_NAMED ? [`${peers.length - MAX_NAMED} more`] : [];
  return `This replicates to peers: ${[...named, ...more].join(', ')}. ${others}`;
}
