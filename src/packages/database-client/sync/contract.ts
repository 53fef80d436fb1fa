/** What `sync()` takes and returns. Types only. */
import type { RefusedDocument } from '../../interface/replication.ts';
import type { Selector } from '../../interface/selectors.ts';

/** `push`: from the local database to the server. `pull`: from there to here. */
export type SyncDirection = 'push' | 'pull';

/**
 * How the server knows the user (docs/http/replication.md#endpoints-of-replications).
 *
 * - `session`: by the cookie of the user who is logged in at the server in this browser
 * - `bearer` with `provided`: by the token that the app's function returns, which it registered with `settee.credentials()`
 * - `bearer` with `token`: by this token, until it expires
 * - `basic`: by name and password, which are stored on the device
 */
export type SyncAuth =
  | { readonly session: true }
  | { readonly bearer: { readonly provided: true } | { readonly token: string } }
  | { readonly basic: { readonly username: string; readonly password: string } };

/** Which documents are copied: at most one of `doc_ids`, `filter` and `selector`. Default: all. */
export interface SyncSelection {
  readonly doc_ids?: readonly string[];
  readonly selector?: Selector<Record<string, unknown>>;
  /** A filter function of the source, `design/name`. */
  readonly filter?: string;
  /** The parameters of the filter. */
  readonly query_params?: Readonly<Record<string, string>>;
  /**
   * Whether design documents are copied, too. Default: false. Only admins of a database may write its design documents: a server would refuse
   * those of other users.
   */
  readonly design_docs?: boolean;
}

export interface SyncOptions extends SyncSelection {
  /** Default: `both`. */
  readonly direction?: 'both' | SyncDirection;
  /** Whether it goes on with each change until it is stopped. `false`: it ends when everything is copied. Default: true. */
  readonly live?: boolean;
  /** Default: none, or the name and the password in the URL. */
  readonly auth?: SyncAuth;
  /** Sent with each request to the server. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the server's database is created if it does not exist. Default: false. */
  readonly create_target?: boolean;
  /** What to copy in this direction, instead of what the options for both say. */
  readonly push?: SyncSelection;
  readonly pull?: SyncSelection;
}

/**
 * - `pending`: it begins, or waits for its turn
 * - `active`: it copies
 * - `paused`: everything is copied; it waits for changes
 * - `denied`: as `paused`, but the other side refused documents: `refused` names them
 * - `offline`: the server can't be reached; it continues by itself
 * - `unauthorized`: the server does not accept the credentials, or does not permit this user to use the database
 * - `error`: something failed; it is tried again at `next_attempt`, and is given up if there is none
 * - `complete`: everything was copied, and nothing more will be (`live: false`)
 * - `stopped`: no replication is requested any more
 */
export type SyncState =
  | 'pending'
  | 'active'
  | 'paused'
  | 'denied'
  | 'offline'
  | 'unauthorized'
  | 'error'
  | 'complete'
  | 'stopped';

/** A failure: with the code and the reason of the service or of the server. */
export interface SyncError {
  /** Such as `offline`, `unauthorized` or `db_not_found`. */
  readonly error: string;
  readonly reason: string;
  /** Nothing has succeeded since then. RFC 3339. */
  readonly since?: string;
}

/** How far the first copy is. After a reload the count starts again, with what is left. */
export interface SyncProgress {
  /** Changes that were processed. */
  readonly done: number;
  /** These, and those that the source still has. */
  readonly total: number;
}

/** One direction. The counts are those of the replication that runs: they start again with it, for instance after a reload. */
export interface SyncDirectionStatus {
  readonly state: SyncState;
  readonly docs_read: number;
  readonly docs_written: number;
  readonly doc_write_failures: number;
  /** Changes of the source that are not processed yet. Absent if the source does not say. */
  readonly pending?: number;
  /** Until everything is copied for the first time since the object was created. */
  readonly progress?: SyncProgress;
  /** Why it can't go on, or went not on the last time. Absent as soon as something succeeded. */
  readonly last_error?: SyncError;
  /** RFC 3339. Absent if none is planned, or one is under way. */
  readonly next_attempt?: string;
  /** Number of documents that the other side refused, or that can't be read. */
  readonly refused_count: number;
  /** The first of them (docs/http/replication.md#refused-documents). */
  readonly refused: readonly RefusedDocument[];
  /** docs/http/replication.md#replication-ids */
  readonly replication_id?: string;
}

export interface SyncStatus {
  /**
   * That of the direction that needs attention most, in this order: `unauthorized`, `error`, `offline`, `active`, `pending`, `denied`, `stopped`,
   * `paused`, `complete`.
   */
  readonly state: SyncState;
  /** Absent if this direction is not wanted. */
  readonly push?: SyncDirectionStatus;
  readonly pull?: SyncDirectionStatus;
}

/** The status of one direction, when an event happened. */
export interface SyncDirectionEvent extends SyncDirectionStatus {
  readonly direction: SyncDirection;
}

/** A document that was refused. */
export interface SyncDenial extends RefusedDocument {
  readonly direction: SyncDirection;
}

export interface SyncEvent<Type extends string, Detail> extends Event {
  readonly type: Type;
  readonly detail: Detail;
}

/** The events of a `Sync`, by type. */
export interface SyncEvents {
  /** The status is another one: any figure or state. */
  readonly status: SyncEvent<'status', SyncStatus>;
  /** Documents were copied. */
  readonly change: SyncEvent<'change', SyncDirectionEvent>;
  /** A direction began to copy. */
  readonly active: SyncEvent<'active', SyncDirectionEvent>;
  /** A direction has copied everything, and waits. */
  readonly paused: SyncEvent<'paused', SyncDirectionEvent>;
  /** The server can't be reached. */
  readonly offline: SyncEvent<'offline', SyncDirectionEvent>;
  /** A document was refused: one event for each, also for those that were refused before this object was created. */
  readonly denied: SyncEvent<'denied', SyncDenial>;
  readonly unauthorized: SyncEvent<'unauthorized', SyncDirectionEvent>;
  /** An attempt failed. */
  readonly error: SyncEvent<'error', SyncDirectionEvent>;
  /** All directions have copied everything, and have ended. */
  readonly complete: SyncEvent<'complete', SyncStatus>;
  /** No direction is requested any more: `stop()` was called, here or in another tab. */
  readonly stopped: SyncEvent<'stopped', SyncStatus>;
}

/** As of any `addEventListener`. */
export interface SyncListenerOptions {
  readonly once?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * A database that is kept in sync with one on a server. Each page and tab may have an object for the same sync.
 *
 * What following it costs, in requests to the local service: two that stay open, one for changes of `_replicator` and one for changes of the
 * database; each second one for each direction while it copies; else one every 15 seconds. None goes to the server.
 */
export interface Sync {
  /**
   * Resolves when the replications are requested. Rejects with a `SetteeError` if the local service refuses that, for instance if this user may
   * not. The status says so, too, so you need not wait for it.
   */
  readonly ready: Promise<void>;
  /** The same object until something changes. */
  status(): SyncStatus;
  /**
   * Tries again now what waits after a failure or was given up, and copies again what was refused. Resolves when it was tried; `status()` then has
   * the result.
   */
  retry(): Promise<void>;
  /** Ends the sync, in all tabs, and this object. What was copied stays. Resolves when the replications are no longer requested. */
  stop(): Promise<void>;
  /** Ends this object only: it reports nothing more. The sync goes on. */
  close(): void;
  addEventListener<Type extends keyof SyncEvents>(
    type: Type,
    listener: (event: SyncEvents[Type]) => void,
    options?: SyncListenerOptions,
  ): void;
  removeEventListener<Type extends keyof SyncEvents>(type: Type, listener: (event: SyncEvents[Type]) => void): void;
}
