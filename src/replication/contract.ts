/**
 * The types of replications (docs/http/replication.md). A replication copies what one database has and another lacks: `run/` does it
 * once or continuously, `peers/` communicates with the two databases, and `jobs/` decides which replications there are, starts them,
 * retries failures and reports their state.
 *
 * Both databases are accessed by requests to the HTTP interface: a remote one over the network, a local one through the service's request handler
 * in the same process. So one implementation serves both, and one suite tests it.
 */

import type { DatabaseError } from '../base/errors/database-error.ts';
import type { Clock, RandomBytes } from '../base/shared/clock.ts';
import type { MaybePromise } from '../base/shared/maybe-promise.ts';
import type { Handle } from '../base/shared/message.ts';
import type { Log } from '../base/system/contract.ts';
import type { DatabaseUser } from '../database/store/contract.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import type { PeerMemory } from './peer-memory.ts';
import type { Reachability } from './reachability.ts';

/** As the peer returned it, to be sent back unchanged: a number, a string, or a list of them in some servers of the family. */
export type Sequence = number | string | readonly unknown[];

/** A database as a replication names it. */
export type Endpoint =
  | { readonly kind: 'local'; readonly name: string }
  | {
      readonly kind: 'remote';
      /** The absolute URL of the database, without credentials and without a slash at its end. */
      readonly url: string;
      /** Names in lower case. They may hold secrets. */
      readonly headers: Readonly<Record<string, string>>;
      readonly credentials: Credentials | undefined;
      /** Address of a proxy, `http:` or `socks5:`; hosts that can't use one refuse it. */
      readonly proxy: string | undefined;
      /** It leads to this service: called through the request handler, as the user of the credentials, or else as the asker. */
      readonly isOwn?: boolean | undefined;
    };

/** The user who requests a replication. */
export interface Asker {
  /** May send any header, to any address. */
  readonly isAdmin: boolean;
  /** IP address, or what stands for one: failed log-ins at this service itself are counted for it. Undefined if unknown. */
  readonly address?: string | undefined;
  /** Headers that name the trace to which the request belongs, for requests over the network. */
  readonly trace?: Readonly<Record<string, string>> | undefined;
}

export type Credentials =
  /** Sent as a session, which is renewed, if the server has sessions; else as basic authentication. */
  | { readonly kind: 'password'; readonly name: string; readonly password: string }
  | {
      readonly kind: 'oauth';
      readonly consumerKey: string;
      readonly consumerSecret: string;
      readonly token: string;
      readonly tokenSecret: string;
      readonly signatureMethod: 'HMAC-SHA1' | 'PLAINTEXT';
    }
  /** The cookies that the browser has of the peer: the session of the page's user. Only for hosts in browsers. */
  | { readonly kind: 'session' }
  /** A bearer token (RFC 6750). Without `token` the app provides one, and renews it: see `TokenSource`. */
  | { readonly kind: 'bearer'; readonly token?: string | undefined };

/** A token that an app has provided. */
export interface ProvidedToken {
  readonly token: string;
  /** Milliseconds since the epoch: the token is renewed before that. Undefined if it is not known. */
  readonly expires?: number | undefined;
}

/** An app that provides bearer tokens for peers, such as the open pages of a browser. */
export interface TokenSource {
  /**
   * Asks for a token for requests to that database. Resolves within a bounded time: to undefined if no one provides one at present. Fails with
   * an Error, whose message people see, if the app fails: see `TokenFailure`. `refused`: the token that the peer does not accept any more.
   */
  ask(url: string, refused: string | undefined): Promise<ProvidedToken | undefined>;
  /** Calls back for each change of who provides tokens. Returns a function that ends that. */
  onChange(listener: (change: TokenSourceChange) => void): () => void;
}

/** The app could not get a token. */
export interface TokenFailure extends Error {
  /** There is no network: no one has to log in. */
  readonly isOffline?: boolean;
}

export interface TokenSourceChange {
  /** `added`: the question may now be answered, or answered differently. `removed`: the app has logged out. */
  readonly type: 'added' | 'removed';
  /** Of the URLs of databases that this concerns; undefined for all. */
  readonly prefix: string | undefined;
}

/** The tokens of a `TokenSource`, which all replications share: `provided-tokens.ts`. */
export interface Tokens {
  /** Returns the present token for that database, and asks for one if there is none. Fails with `unauthorized` if no one provides one. */
  tokenFor(url: string): Promise<string>;
  /** The peer does not accept that token. Returns whether there is another one. Fails like `tokenFor`. */
  renew(url: string, refused: string): Promise<boolean>;
  /**
   * Calls back once, in a later turn: when a token for that database may be provided, or has been since `seen`. Returns a function that
   * ends the wait.
   */
  next(awaited: { readonly url: string; readonly seen?: number | undefined }, goOn: () => void): () => void;
}

/** One replication, as requested, with all defaults filled in. */
export interface Replication {
  readonly source: Endpoint;
  readonly target: Endpoint;
  readonly continuous: boolean;
  readonly createTarget: boolean;
  /** Which documents; undefined for all. */
  readonly selection: Selection | undefined;
  /** Design documents are copied like others. Default: true. */
  readonly designDocs?: boolean | undefined;
  /** Where to begin, instead of at the checkpoint. */
  readonly sinceSeq: Sequence | undefined;
  readonly useCheckpoints: boolean;
  /** The id of other checkpoints, from which it continues if it has none of its own. */
  readonly formerCheckpoint?: string | undefined;
  readonly checkpointIntervalMs: number;
  /** Maximum number of changes in a batch. */
  readonly batchSize: number;
  /** Batches whose documents are fetched and written at the same time. */
  readonly workers: number;
  /** Requests to one peer at the same time. */
  readonly connections: number;
  /** The longest time without a sign of life from a peer during a request. */
  readonly connectionTimeoutMs: number;
  readonly retriesPerRequest: number;
  /** The user whose rights the local sides use. */
  readonly user: DatabaseUser;
  readonly asker: Asker;
  /** Why these rights have ended; undefined while they hold. Without it they hold forever. */
  readonly whyEnded?: WhyEnded | undefined;
  /** Milliseconds since the epoch: when these rights end, if that is known. `whyEnded` says so from then on. */
  readonly rightsUntil?: number | undefined;
}

/** A sentence for people. */
export type WhyEnded = () => MaybePromise<string | undefined>;

/** What the service now knows of a name: see `Standing` of `accounts/contract.ts`. */
export type Standing =
  | { readonly kind: 'account'; readonly roles: readonly string[] }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unknown'; readonly mayLogIn: boolean };

/** The present rights of users, for replications, which outlive the requests that started them. */
export interface Standings {
  /** `name`: null for a user without a name. */
  of(name: string | null): MaybePromise<Standing>;
  /** Calls back when a standing may have changed. */
  onChange(listener: () => void): void;
}

export type Selection =
  /** Each once, sorted by UTF-16 code units. */
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'filter'; readonly filter: string; readonly parameters: Readonly<Record<string, string>> }
  /** JSON text of the selector, in a normal form. */
  | { readonly kind: 'selector'; readonly selector: string };

/** What a run counts. All values are for this run alone. */
export interface RunStats {
  readonly docsRead: number;
  readonly docsWritten: number;
  readonly docWriteFailures: number;
  /** Revisions that the target was asked about, and those that it lacked. */
  readonly missingChecked: number;
  readonly missingFound: number;
  /** For documents and attachments, as transferred. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** The source's changes were read up to here. */
  readonly sourceSeq: Sequence;
  /** Everything up to here is durable at the target: the last checkpoint. */
  readonly checkpointedSourceSeq: Sequence;
  /** Changes of the source that are not processed yet; undefined if the source doesn't say. */
  readonly pending: number | undefined;
  /** Undefined while there is no outage. */
  readonly outage?: PeerOutage | undefined;
  /** False until both databases have responded. */
  readonly hasReached?: boolean | undefined;
}

/** A database that doesn't respond as it should, and is retried within the run. */
export interface PeerOutage {
  /** An error code and what happened. */
  readonly reason: string;
  /** Milliseconds since the epoch: when the last request succeeded, and when the next one is sent. */
  readonly since: number;
  readonly nextAttempt: number;
  /** Its host can't be reached at all. False by default. */
  readonly isOffline?: boolean | undefined;
}

/** A revision that could not be copied. The run went on without it. */
export interface RefusedDocument {
  readonly id: string;
  readonly rev: string;
  /** The error name from the target (or from the source, if the revision could not be read), such as `forbidden`. */
  readonly error: string;
  readonly reason: string;
}

/** One session of the history, which lists the newest first, in the names of the interface (interface 2.10), which foreign replicators also read. */
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
  /** The first refused documents (an addition of our own); absent if there were none. */
  readonly refused?: readonly RefusedDocument[];
}

/** The result of a run that finished; the response of `POST _replicate` except `ok`. */
export interface RunResult {
  readonly session_id: string;
  readonly source_last_seq: Sequence;
  readonly replication_id_version: number;
  readonly history: readonly HistoryEntry[];
  /** Nothing was new, or no new change was to be copied. */
  readonly no_changes?: true;
  /** For this run alone; all counts are 0 if there were no changes. */
  readonly start_time: string;
  readonly end_time: string;
  readonly missing_checked: number;
  readonly missing_found: number;
  readonly docs_read: number;
  readonly docs_written: number;
  readonly doc_write_failures: number;
}

/** Receives the progress of a run. The run awaits none of these calls, and none may fail. */
export interface RunObserver {
  /** The figures have changed; called at most a few times in a second. */
  progress(figures: RunStats): void;
  refused(document: RefusedDocument): void;
  /** Resolves when a crash would leave the names of what was refused so far. A checkpoint is written after that. Without it they are not kept. */
  keepRefused?(): Promise<void>;
  /** The source has the document in these revisions now. What was refused of it in others no longer matters. */
  listed(id: string, revs: readonly string[]): void;
  /** Everything is copied and the run waits for the next change (`true`), or has work again. Only for continuous ones. */
  idle(isIdle: boolean): void;
}

/** What the host provides: everything outside the service. */
export interface ReplicatorHost {
  /** The service's request handler, for local databases. Requests carry `Replication.user` with them. */
  readonly handle: Handle;
  /** The network. Undefined if the host has none: remote endpoints are refused then. */
  readonly fetch: typeof globalThis.fetch | undefined;
  /** Sends requests through a proxy; undefined if the host can't. */
  readonly fetchThrough?: ((proxy: string) => typeof globalThis.fetch) | undefined;
  /** The rules for users who are not admins, and the service's own addresses; undefined if the host's own rules are enough. */
  readonly guard?: NetworkGuard | undefined;
  /** `fetch` is a browser's: it sends no cookies that are set by hand, and no streamed bodies. False by default. */
  readonly isBrowserFetch?: boolean | undefined;
  /** False if the device certainly has no network; undefined if the host can't tell. */
  readonly isOnline?: (() => boolean) | undefined;
  /** Wakes what waits for a host when the host responds; undefined if only timers do. */
  readonly reachability?: Reachability | undefined;
  /** The app that provides bearer tokens; undefined if there is none. */
  readonly tokenSource?: TokenSource | undefined;
  /** Undefined without a `tokenSource`. */
  readonly tokens?: Tokens | undefined;
  /** Undefined if the number of connections is unlimited. */
  readonly connectionLimits?: ConnectionLimits | undefined;
  /** Connections of all replications together, if the host bounds them. */
  readonly mostConnections?: number | undefined;
  /** The memory for peers' responses in all replications together; undefined if it is not counted. */
  readonly memory?: PeerMemory | undefined;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly log: Log;
  /** The prefix of every path of a local request (`CoreOptions.basePath`). */
  readonly basePath: string;
  /** The service's own uuid: part of a replication's id. */
  readonly serverUuid: string;
  /** Undefined if rights never end. */
  readonly standings?: Standings | undefined;
  /** Undefined if requests for replications end with the service. */
  readonly requests?: RequestStore | undefined;
  /** Called when the activity changes. */
  readonly onActivity?: ((activity: ReplicationActivity) => void) | undefined;
}

/** Keeps users from reaching by a replication what they could not reach themselves (docs/http/replication.md#addresses-that-users-may-name). */
export interface NetworkGuard {
  /** The host's functions for users who are not admins: they reach public addresses, and those that a setting permits. */
  readonly fetch: typeof globalThis.fetch;
  readonly fetchThrough: ReplicatorHost['fetchThrough'];
  /** Returns why a user who is not an admin may not name that address; undefined if nothing is known against it. */
  refusal(url: string): string | undefined;
  /** Whether the URL leads to this service. */
  isOwn(url: string): Promise<boolean>;
}

/**
 * Keeps the requests for continuous replications (`POST _replicate`) after this core has ended, for the next one on the same storage. They
 * may hold secrets.
 */
export interface RequestStore {
  /** What any core on this storage saved last; empty if none has. */
  readonly text: string;
  save(text: string): void;
}

/** `busy`: something is copied, or attempted. `failing`: nothing is, and something waits to be retried. */
export type ReplicationActivity = 'resting' | 'busy' | 'failing';

/**
 * Copies once (or until `signal` ends it, if the replication is continuous). Continues from the last checkpoint that both ends
 * know. Peers that fail for a while are retried within the run (`retriesPerRequest`); after that it fails with a `ReplicationFailure`.
 * An aborted run writes no more documents, makes a last checkpoint if that is possible at once, and fails with `cancelled`.
 */
export type RunReplication = (
  replication: Replication,
  /** As `replication-id.ts` computes it, without suffixes: names the checkpoints. */
  checkpointId: string,
  host: ReplicatorHost,
  observer: RunObserver,
  signal: AbortSignal,
) => Promise<RunResult>;

/**
 * Reads the source text of the filter function that the replication names (`Selection.filter` as `design/name`, not one that begins with
 * `_`), from its source database: editing the function changes the replication's id, so it begins again. Fails as a run does.
 */
export type ReadFilter = (
  replication: Replication,
  filter: string,
  host: ReplicatorHost,
  signal: AbortSignal,
) => Promise<string>;

/**
 * What a run fails with (`failure.ts` has the class): `db_not_found`, `not_found` (a filter), `unauthorized`, `forbidden`,
 * `replication_failed`, or `cancelled` if it was aborted. Its reason names the database without credentials.
 */
export interface ReplicationFailure extends DatabaseError {
  /** False if a person has to change something first: no such database, no rights, a filter that does not exist. */
  readonly isRetryable: boolean;
  /** How long the peer asked to wait (`Retry-After`). */
  readonly retryAfterMs?: number | undefined;
  /** The origin of a peer that could not be reached at all. Such failures don't count: the device may be offline. */
  readonly unreachable?: string | undefined;
}
