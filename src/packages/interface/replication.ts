/** Replications: requests and reports (docs/http/replication.md). */
import type { Selector } from './selectors.ts';

/** docs/http/replication.md#endpoints-of-replications */
export type ReplicationEndpoint =
  | string
  | {
      readonly url: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly auth?: ReplicationAuth;
    };

/** docs/http/replication.md#credentials-of-endpoints */
export type ReplicationAuth =
  | { readonly basic: { readonly username: string; readonly password: string } }
  /** The session that the page's user has at the peer; only in browsers. */
  | { readonly session: true }
  /** `provided`: by the app, see `settee.credentials`. */
  | { readonly bearer: { readonly token: string } | { readonly provided: true } }
  | { readonly oauth: Readonly<Record<string, string>> };

/** The body of `_replicate`. At most one of `doc_ids`, `filter` and `selector`. */
export interface ReplicationRequest {
  readonly source: ReplicationEndpoint;
  readonly target: ReplicationEndpoint;
  readonly continuous?: boolean;
  readonly create_target?: boolean;
  readonly cancel?: boolean;
  readonly doc_ids?: readonly string[];
  readonly filter?: string;
  readonly query_params?: Readonly<Record<string, string>>;
  readonly selector?: Selector<Record<string, unknown>>;
  /** Whether design documents are copied. Default: true. */
  readonly design_docs?: boolean;
  readonly retry_refused?: boolean;
  readonly since_seq?: number | string;
  readonly use_checkpoints?: boolean;
  /** Milliseconds. */
  readonly checkpoint_interval?: number;
  readonly worker_batch_size?: number;
  readonly worker_processes?: number;
  readonly http_connections?: number;
  /** Milliseconds. */
  readonly connection_timeout?: number;
  readonly retries_per_request?: number;
}

/** The response if it is not continuous, when everything is copied (docs/http/replication.md#results-of-replications). */
export interface ReplicationResult {
  readonly ok: true;
  readonly no_changes?: true;
  readonly session_id: string;
  readonly source_last_seq: number | string;
  readonly replication_id_version: number;
  readonly history: readonly ReplicationRun[];
  /** For this run only. */
  readonly start_time: string;
  readonly end_time: string;
  readonly missing_checked: number;
  readonly missing_found: number;
  readonly docs_read: number;
  readonly docs_written: number;
  readonly doc_write_failures: number;
}

/** The response if it is continuous. */
export interface ReplicationStarted {
  readonly ok: true;
  readonly _local_id: string;
}

export interface ReplicationRun {
  readonly session_id: string;
  readonly start_time: string;
  readonly end_time: string;
  readonly start_last_seq: number | string;
  readonly end_last_seq: number | string;
  readonly recorded_seq: number | string;
  readonly missing_checked: number;
  readonly missing_found: number;
  readonly docs_read: number;
  readonly docs_written: number;
  readonly doc_write_failures: number;
  readonly refused?: readonly RefusedDocument[];
}

/** A document that the target, or the reading of the source, refused (docs/http/replication.md#refused-documents). */
export interface RefusedDocument {
  readonly id: string;
  readonly rev: string;
  readonly error: string;
  readonly reason: unknown;
}

/** A document of `_replicator`, with the members that the service writes into it (docs/http/replication.md#replication-documents). */
export interface ReplicationDocument extends Omit<ReplicationRequest, 'cancel' | 'query_params'> {
  /** Values that are not strings are sent as JSON text. */
  readonly query_params?: Readonly<Record<string, unknown>>;
  readonly owner?: string | null;
  readonly user_ctx?: { readonly name?: string | null; readonly roles?: readonly string[] };
  readonly _replication_state?: 'triggered' | 'completed' | 'error';
  readonly _replication_state_time?: string;
  readonly _replication_state_reason?: string;
  readonly _replication_id?: string;
  readonly _replication_stats?: Readonly<Record<string, unknown>>;
}

/** `GET /_scheduler/docs` (docs/http/replication.md#list-of-replication-documents). */
export interface ReplicationDocumentList {
  readonly total_rows: number;
  readonly offset: number;
  readonly docs: readonly ReplicationDocumentEntry[];
}

export interface ReplicationDocumentEntry {
  readonly database: string;
  readonly doc_id: string;
  readonly id: string | null;
  readonly state:
    | 'initializing'
    | 'pending'
    | 'running'
    | 'paused'
    | 'unauthorized'
    | 'crashing'
    | 'error'
    | 'completed'
    | 'failed';
  readonly source: string;
  readonly target: string;
  readonly design_docs?: false;
  readonly info: Readonly<Record<string, unknown>> | null;
  readonly error_count: number;
  readonly start_time: string;
  readonly last_updated: string;
  readonly node: string;
}

/** `GET /_scheduler/jobs` (docs/http/replication.md#list-of-replications). */
export interface ReplicationJobList {
  readonly total_rows: number;
  readonly offset: number;
  readonly jobs: readonly ReplicationJob[];
}

export interface ReplicationJob {
  readonly id: string;
  readonly database: string | null;
  readonly doc_id: string | null;
  readonly source: string;
  readonly target: string;
  readonly user: string | null;
  readonly design_docs?: false;
  readonly state: 'pending' | 'running' | 'paused' | 'unauthorized' | 'crashing' | 'failed';
  readonly info: Readonly<Record<string, unknown>> | null;
  readonly history: readonly {
    readonly timestamp: string;
    readonly type: 'added' | 'started' | 'stopped' | 'crashed';
    readonly reason?: string;
  }[];
  readonly start_time: string;
  readonly pid: string | null;
  readonly node: string;
}
