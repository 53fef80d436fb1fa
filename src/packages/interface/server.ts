/** The service itself, its databases and the reports on its work (docs/http/server.md, docs/http/databases.md). */

export interface ServerInformation {
  readonly svc: string;
  readonly uuid: string;
  readonly version: string;
  readonly vendor: { readonly name: string; readonly version: string };
}

/** The response for a created database or index. `existed`: with `if-missing=true` it already existed. */
export interface Created {
  readonly ok: true;
  readonly existed?: true;
}

/** docs/http/databases.md#database-information */
export interface DatabaseInformation {
  readonly db_name: string;
  readonly doc_count: number;
  readonly doc_del_count: number;
  readonly update_seq: number;
  readonly purge_seq: number;
  readonly compact_running: boolean;
  /** Bytes. */
  readonly disk_size: number;
  /** Bytes. */
  readonly data_size: number;
  readonly sizes: DatabaseSizes;
  /** Microseconds since the epoch. */
  readonly instance_start_time: string;
  readonly disk_format_version: number;
  readonly committed_update_seq: number;
}

/** Bytes (docs/http/databases.md#sizes-of-a-database). */
export interface DatabaseSizes {
  readonly file: number;
  readonly external: number;
  readonly active: number;
  readonly live: number;
  readonly old: number;
  readonly deleted: number;
}

/** An entry of `_dbs_info` (docs/http/server.md#information-on-many-databases). */
export type DatabaseEntry =
  | { readonly key: string; readonly info: DatabaseInformation }
  | { readonly key: string; readonly error: 'not_found' | 'unauthorized' };

export interface UuidsAnswer {
  readonly uuids: readonly string[];
}

/** docs/http/databases.md#security-object */
export interface SecurityObject {
  readonly admins?: NamesAndRoles;
  readonly members?: NamesAndRoles;
  readonly [member: string]: unknown;
}

export interface NamesAndRoles {
  readonly names?: readonly string[];
  readonly roles?: readonly string[];
}

/** docs/http/databases.md#purge */
export interface PurgeAnswer {
  readonly purge_seq: number;
  readonly purged: Readonly<Record<string, readonly string[]>>;
}

/** docs/http/views.md#index-information */
export interface ViewIndexInformation {
  readonly name: string;
  readonly view_index: {
    readonly signature: string;
    readonly language: string;
    readonly disk_size: number;
    readonly data_size: number;
    readonly updater_running: boolean;
    readonly compact_running: boolean;
    readonly waiting_commit: boolean;
    readonly waiting_clients: number;
    readonly update_seq: number;
    readonly purge_seq: number;
    readonly documents_left_out?: number;
  };
}

/** An entry of `_active_tasks` (docs/http/server.md#active-tasks). Replications have more members. */
export interface ActiveTask {
  readonly type: 'indexer' | 'database_compaction' | 'view_compaction' | 'replication';
  readonly pid: string;
  readonly database?: string;
  readonly design_document?: string;
  readonly task?: string;
  readonly status?: string;
  /** Percent. */
  readonly progress?: number;
  readonly changes_done?: number;
  readonly total_changes?: number;
  /** Unix time in seconds. */
  readonly started_on: number;
  /** Unix time in seconds. */
  readonly updated_on: number;
  readonly [member: string]: unknown;
}

/** `GET /_session` (docs/http/accounts.md#sessions). */
export interface SessionAnswer {
  readonly ok: true;
  readonly userCtx: { readonly name: string | null; readonly roles: readonly string[] };
  readonly info: {
    readonly authentication_db: string;
    readonly authentication_handlers: readonly string[];
    readonly authenticated?: string;
  };
}

/** The response to a log-in. */
export interface LoginAnswer {
  readonly ok: true;
  readonly name: string | null;
  readonly roles: readonly string[];
}

/** A document of `_users` as it is written (docs/http/accounts.md#users). Its id is `org.couchdb.user:` and the name. */
export interface UserDocument {
  readonly _id: string;
  readonly _rev?: string;
  readonly type: 'user';
  readonly name: string;
  readonly roles: readonly string[];
  readonly password?: string;
}

/** A statistic of `_stats` (docs/http/server.md#statistics). */
export interface Statistic {
  readonly description: string;
  readonly current: number;
  readonly sum: number;
  readonly mean: number;
  readonly stddev: number;
  readonly min: number;
  readonly max: number;
}

/** All settings, by section and key (docs/http/server.md#configuration). */
export type Configuration = Readonly<Record<string, Readonly<Record<string, string>>>>;
