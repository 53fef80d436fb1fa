/**
 * What replications are made of (docs/http/replication.md). A replication copies what one database has and another has not: `run/` does it
 * once or for as long as it is let, `peers/` speaks with the two databases, and `jobs/` decides which replications there are, starts them,
 * repeats what failed and says how they are.
 *
 * Both databases are reached by requests of the service's own interface: a remote one over the network, a local one through the one door in
 * the same process. So one implementation serves both, and one suite tests it.
 */

import type { DatabaseError } from '../base/errors/database-error.ts';
import type { Clock, RandomBytes } from '../base/shared/clock.ts';
import type { MaybePromise } from '../base/shared/maybe-promise.ts';
import type { Handle } from '../base/shared/message.ts';
import type { Log } from '../base/system/contract.ts';
import type { DatabaseUser } from '../database/store/contract.ts';
import type { Connections } from './host-connections.ts';
import type { PeerMemory } from './peer-memory.ts';

/** As the peer gave it, to be handed back as it is: a number, a text, or a list of them in some servers of the family. */
export type Sequence = number | string | readonly unknown[];

/** A database as a replication names it. */
export type Endpoint =
  | { readonly kind: 'local'; readonly name: string }
  | {
      readonly kind: 'remote';
      /** Absolute, of the database, without credentials and without a slash at its end. */
      readonly url: string;
      /** Names in lower case. They may hold secrets. */
      readonly headers: Readonly<Record<string, string>>;
      readonly credentials: Credentials | undefined;
      /** Address of a proxy, `http:` or `socks5:`; hosts that can't use one refuse it. */
      readonly proxy: string | undefined;
      /** It leads to this service: asked through the one door, as whom the credentials show, else as who asks. */
      readonly isOwn?: boolean | undefined;
    };

/** Who asks for a replication. */
export interface Asker {
  /** May have any header sent, to any address. */
  readonly isAdmin: boolean;
  /** IP address, or what stands for one: to it failed log-ins at this service itself are counted. Undefined where nobody knows. */
  readonly address?: string | undefined;
}

export type Credentials =
  /** Sent as a session where the server has them, which is renewed, else as basic authentication. */
  | { readonly kind: 'password'; readonly name: string; readonly password: string }
  | {
      readonly kind: 'oauth';
      readonly consumerKey: string;
      readonly consumerSecret: string;
      readonly token: string;
      readonly tokenSecret: string;
      readonly signatureMethod: 'HMAC-SHA1' | 'PLAINTEXT';
    };

/** One replication, as it was asked for, with all defaults filled in. */
export interface Replication {
  readonly source: Endpoint;
  readonly target: Endpoint;
  readonly continuous: boolean;
  readonly createTarget: boolean;
  /** Which documents; undefined for all. */
  readonly selection: Selection | undefined;
  /** Where to begin, in the place of the checkpoint. */
  readonly sinceSeq: Sequence | undefined;
  readonly useCheckpoints: boolean;
  readonly checkpointIntervalMs: number;
  /** Changes of one batch at most. */
  readonly batchSize: number;
  /** Batches whose documents are fetched and written at the same time. */
  readonly workers: number;
  /** Requests to one peer at the same time. */
  readonly connections: number;
  /** How long a peer may give no sign during a request. */
  readonly connectionTimeoutMs: number;
  readonly retriesPerRequest: number;
  /** Whose rights the local sides use. */
  readonly user: DatabaseUser;
  readonly asker: Asker;
  /** Why these rights have ended; undefined while they hold. Without it they hold for ever. */
  readonly whyEnded?: WhyEnded | undefined;
}

/** For people, as a sentence. */
export type WhyEnded = () => MaybePromise<string | undefined>;

/** What the service knows of a name by now: see `Standing` of `accounts/contract.ts`. */
export type Standing =
  | { readonly kind: 'account'; readonly roles: readonly string[] }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unknown'; readonly mayLogIn: boolean };

/** Who may do what by now, for replications, which outlive the requests that asked for them. */
export interface Standings {
  /** Null for who has no name. */
  of(name: string | null): MaybePromise<Standing>;
  /** Calls back when any of them may have changed. */
  onChange(listener: () => void): void;
}

export type Selection =
  /** Each once, in the order of their characters (UTF-16). */
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'filter'; readonly filter: string; readonly parameters: Readonly<Record<string, string>> }
  /** JSON text of the selector, in a normal form. */
  | { readonly kind: 'selector'; readonly selector: string };

/** What a run counts. All are of this run alone. */
export interface RunStats {
  readonly docsRead: number;
  readonly docsWritten: number;
  readonly docWriteFailures: number;
  /** Revisions that the target was asked about, and those that it had not. */
  readonly missingChecked: number;
  readonly missingFound: number;
  /** Of documents and attachments, as they were on the way. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Up to here the source's changes were read. */
  readonly sourceSeq: Sequence;
  /** Up to here all is at the target for good: the last checkpoint. */
  readonly checkpointedSourceSeq: Sequence;
  /** Changes of the source that are not dealt with yet; undefined where the source doesn't say. */
  readonly pending: number | undefined;
  /** Undefined while all goes on. */
  readonly outage?: PeerOutage | undefined;
}

/** A database that doesn't answer as it should, and is asked again within the run. */
export interface PeerOutage {
  /** A code and what happened. */
  readonly reason: string;
  /** Milliseconds since the epoch: since when no request has succeeded, and when the next one is sent. */
  readonly since: number;
  readonly nextAttempt: number;
}

/** A revision that could not be copied. The run went on without it. */
export interface RefusedDocument {
  readonly id: string;
  readonly rev: string;
  /** As the target (or the source, where it was not to be read) named it, such as `forbidden`. */
  readonly error: string;
  readonly reason: string;
}

/** One session of the history, newest first there, in the names of the interface (interface 2.10), which is also what foreign replicators read. */
export interface HistoryEntry {
  readonly session_id: string;
  /** RFC 2822 date-times. */
  readonly start_time: string;
  readonly end_time: string;
  readonly start_last_seq: Sequence;
  readonly end_last_seq: Sequence;
  readonly recorded_seq: Sequence;
  readonly missing_checked: number;
  readonly missing_found: number;
  readonly docs_read: number;
  readonly docs_written: number;
  readonly doc_write_failures: number;
  /** The first of those that were refused (an addition of our own); absent where there were none. */
  readonly refused?: readonly RefusedDocument[];
}

/** What a run that came to its end tells; the answer of `POST _replicate` but for `ok`. */
export interface RunResult {
  readonly session_id: string;
  readonly source_last_seq: Sequence;
  readonly replication_id_version: number;
  readonly history: readonly HistoryEntry[];
  /** Nothing was new, or nothing of what was new was to be copied. */
  readonly no_changes?: true;
  /** Of this run alone; all counts are 0 where there were no changes. */
  readonly start_time: string;
  readonly end_time: string;
  readonly missing_checked: number;
  readonly missing_found: number;
  readonly docs_read: number;
  readonly docs_written: number;
  readonly doc_write_failures: number;
}

/** What a run tells while it goes on. None of them is awaited, and none may fail. */
export interface RunObserver {
  /** ReplicationStats have changed; called at most a few times in a second. */
  progress(figures: RunStats): void;
  refused(document: RefusedDocument): void;
  /** All that was there is copied, and it waits for the next change (`true`), or has work again. Only continuous ones. */
  idle(isIdle: boolean): void;
}

/** What the host gives: everything that leaves the service. */
export interface ReplicatorHost {
  /** The service's own door, for local databases. Requests carry `Replication.user` with them. */
  readonly handle: Handle;
  /** The network. Undefined where the host has none: remote endpoints are refused then. */
  readonly fetch: typeof globalThis.fetch | undefined;
  /** Sends requests by way of a proxy; undefined where the host can't. */
  readonly fetchThrough?: ((proxy: string) => typeof globalThis.fetch) | undefined;
  /** What holds for those who are no admins, and which addresses are the service's own; undefined where the host's own rules are enough. */
  readonly guard?: NetworkGuard | undefined;
  /** `fetch` is a browser's: it sends no cookies that are set by hand, and no bodies that are still being made. False by default. */
  readonly isBrowserFetch?: boolean | undefined;
  /** Undefined where there may be as many connections as one likes. */
  readonly connections?: Connections | undefined;
  /** Connections of all replications together, where the host bounds them. */
  readonly mostConnections?: number | undefined;
  /** What peers' answers take in all replications together; undefined where nobody counts it. */
  readonly memory?: PeerMemory | undefined;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly log: Log;
  /** What every path of a local request begins with (`CoreOptions.basePath`). */
  readonly basePath: string;
  /** The service's own uuid: part of a replication's id. */
  readonly serverUuid: string;
  /** Undefined where rights never end. */
  readonly standings?: Standings | undefined;
  /** Undefined where requests for replications end with the service. */
  readonly requests?: RequestStore | undefined;
  /** Called when it changes. */
  readonly onActivity?: ((activity: ReplicationActivity) => void) | undefined;
}

/** Keeps users from reaching by a replication what they could not reach themselves (docs/http/replication.md#addresses-that-users-may-name). */
export interface NetworkGuard {
  /** As those of the host, for who is no admin: they reach public addresses, and those that a setting permits. */
  readonly fetch: typeof globalThis.fetch;
  readonly fetchThrough: ReplicatorHost['fetchThrough'];
  /** Why who is no admin may not name that address; undefined where nothing is known against it. */
  refusal(url: string): string | undefined;
  /** Whether the URL leads to this service. */
  isOwn(url: string): Promise<boolean>;
}

/**
 * Keeps the requests for continuous replications (`POST _replicate`) beyond the end of this core, for the next one on the same storage. They
 * may hold secrets.
 */
export interface RequestStore {
  /** What any core on this storage has saved last; empty where none has. */
  readonly text: string;
  save(text: string): void;
}

/** `busy`: something is being copied, or tried. `failing`: nothing is, and something waits until it is tried again. */
export type ReplicationActivity = 'resting' | 'busy' | 'failing';

/**
 * Copies once (or goes on until `signal` ends it, where the replication is continuous). Goes on from the last checkpoint that both ends
 * know. Peers that fail for a while are asked again within the run (`retriesPerRequest`); what it then fails with is a `ReplicationFailure`.
 * An aborted run writes no more documents, makes a last checkpoint where that is possible at once, and fails with `cancelled`.
 */
export type RunReplication = (
  replication: Replication,
  /** As `replication-id.ts` makes it, without suffixes: names the checkpoints. */
  checkpointId: string,
  host: ReplicatorHost,
  observer: RunObserver,
  signal: AbortSignal,
) => Promise<RunResult>;

/**
 * The source text of the filter function that the replication names (`Selection.filter` as `design/name`, not one of those that begin with
 * `_`), from its source database: an edit of the function makes another replication of it, which begins anew. Fails as a run does.
 */
export type ReadFilter = (
  replication: Replication,
  filter: string,
  host: ReplicatorHost,
  signal: AbortSignal,
) => Promise<string>;

/**
 * What a run fails with (`failure.ts` has the class): `db_not_found`, `not_found` (a filter), `unauthorized`, `forbidden`,
 * `replication_failed`, or `cancelled` where it was aborted. Its reason names the database without credentials.
 */
export interface ReplicationFailure extends DatabaseError {
  /** False where somebody has to change something first: no such database, no rights, a filter that does not exist. */
  readonly isRetryable: boolean;
  /** How long the peer asked to wait (`Retry-After`). */
  readonly retryAfterMs?: number | undefined;
}
