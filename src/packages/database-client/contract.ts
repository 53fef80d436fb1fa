/** What `database()` returns. Types only. Each method is one request, except `update` and `changes`; `fetch` alone can do the same. */
import type { Change, Deletion, Draft, Refused, Stored, Written } from '../interface/documents.ts';
import type {
  AllDocs,
  AllDocsRowFor,
  ListOptions,
  ReducedAnswer,
  ViewAnswer,
  ViewOptions,
  ViewRow,
  WithDoc,
} from '../interface/lists.ts';
import type { FindAnswer, FindQuery, Selector } from '../interface/selectors.ts';
import type { Created } from '../interface/server.ts';

/** `settee.fetch`, or the `fetch` of a page or of Node, or a wrapper around one, for example to add credentials. */
export type Fetch = (address: string, init: FetchInit) => Promise<Response>;

export interface FetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  /** What the platform's own `fetch` takes: a text, bytes, a Blob, a stream. `database()` sends texts, and a Blob for a document with Blobs. */
  readonly body?: NonNullable<RequestInit['body']>;
  /** Some platforms require it with a stream. */
  readonly duplex?: 'half';
  readonly signal?: AbortSignal;
}

/** A write that was based on a revision that is not, or no longer, the document's (docs/http/documents.md#update-conflicts). Nothing was changed. */
export interface Conflict {
  readonly ok: false;
  readonly id: string;
  readonly error: 'conflict';
  readonly reason: string;
}

/** docs/http/documents.md#reading-a-document, docs/http/documents.md#metadata-of-a-read */
export interface GetOptions {
  readonly rev?: string;
  readonly revs?: boolean;
  readonly revs_info?: boolean;
  readonly conflicts?: boolean;
  readonly deleted_conflicts?: boolean;
  readonly meta?: boolean;
  readonly local_seq?: boolean;
  readonly latest?: boolean;
  readonly attachments?: boolean;
  readonly att_encoding_info?: boolean;
}

export interface UpdateOptions {
  /** How often it reads and writes again after a conflict. Default: 10. */
  readonly retries?: number;
}

export interface BulkOptions {
  /** `false`: documents bring their own revisions (docs/http/documents.md#replicated-writes). Default: true. */
  readonly new_edits?: boolean;
}

/** docs/http/changes.md#parameters-of-feeds, docs/http/changes.md#filters-of-changes */
export interface ChangesOptions<T> {
  /** Default: 0, from the beginning. `now`: only changes after the first request. */
  readonly since?: number | 'now';
  /**
   * Goes on and waits for changes, until the loop is left or the signal aborts; also after the last change if a request then gets no
   * response, or one that says to ask later. Default: false.
   */
  readonly live?: boolean;
  /** Number of changes that one request asks for. Default: 500. */
  readonly batch?: number;
  readonly include_docs?: boolean;
  readonly conflicts?: boolean;
  readonly attachments?: boolean;
  readonly style?: 'main_only' | 'all_docs';
  readonly doc_ids?: readonly string[];
  readonly selector?: Selector<Stored<T>>;
  /** `design/name`; other query parameters of the filter are in `query`. */
  readonly filter?: string;
  readonly view?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Ends the feed: the loop throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Options that request a reduced view. */
export type Reduced = { readonly reduce: true } | { readonly group: true } | { readonly group_level: number };

/**
 * One database. Responses with a status from 400 up, other than those that are return values here, throw a `SetteeError`; a request that gets no
 * response fails as `fetch` does.
 */
export interface Database<T extends object> {
  /** What `database()` was called with, for `sync()` and for other requests. */
  readonly fetch: Fetch;
  readonly address: string;
  /** Creates the database if it does not exist. */
  create(): Promise<Created>;
  /** Returns the document; undefined if there is none or it is deleted. A missing database is an error. */
  get(id: string, options?: GetOptions): Promise<Stored<T> | undefined>;
  /**
   * Writes a document under its id: a new one, or one with the revision that it replaces. Blobs in `_attachments` are sent with it as they are;
   * `content_type` is the Blob's by default.
   */
  put(document: (Draft<T, Content> & { readonly _id: string }) | Deletion<T>): Promise<Written | Conflict>;
  /** Writes a new document, for which the service creates an id if it has none. */
  post(document: Draft<T>): Promise<Written | Conflict>;
  /** Deletes this revision of the document. */
  remove(document: { readonly _id: string; readonly _rev: string }): Promise<Written | Conflict>;
  /**
   * Reads the document, undefined if there is none, and writes what `change` returns for it, with its revision; after a conflict it starts
   * over. So `change` may be called several times, and it may add Blobs as for `put`. Returns the conflict if it was tried often enough.
   */
  update<Changed extends (Draft<T, Content> | Removal<T>) & KnownMembers<Changed, T>>(
    id: string,
    change: (document: Stored<T> | undefined) => MaybePromise<Changed>,
    options?: UpdateOptions,
  ): Promise<Written | Conflict>;
  /** docs/http/find.md#find */
  find<Field extends keyof Stored<T> & string = keyof Stored<T> & string>(
    query: FindQuery<T, Field | `${string}.${string}`>,
  ): Promise<FindAnswer<Pick<Stored<T>, Field>>>;
  /**
   * Rows of the view `design/name`, as they were emitted (docs/http/views.md#view-queries). `reduce`, `group` or `group_level` request
   * reductions. A document that a row refers to may be null.
   */
  view<Key = unknown, Value = unknown>(
    name: string,
    options: ViewOptions<Key> & Reduced,
  ): Promise<ReducedAnswer<Key, Value>>;
  view<Key = unknown, Value = unknown>(
    name: string,
    options: ViewOptions<Key> & { readonly include_docs: true; readonly reduce?: false },
  ): Promise<ViewAnswer<WithDoc<ViewRow<Key, Value>, T, { include_docs: true }, null>>>;
  view<Key = unknown, Value = unknown>(
    name: string,
    options?: ViewOptions<Key> & { readonly reduce?: false },
  ): Promise<ViewAnswer<ViewRow<Key, Value>>>;
  /** docs/http/bulk.md#list-of-all-documents */
  all<const Options extends ListOptions>(options?: Options): Promise<AllDocs<AllDocsRowFor<T, Options>>>;
  /**
   * Changes of documents, one after another, in requests that fetch a batch each: `for await (const change of notes.changes())`. After an
   * error that ended the loop, the next one continues after the last change if it begins with its `seq`.
   */
  changes(options?: ChangesOptions<T>): AsyncGenerator<Change<T>, void, void>;
  /** Writes many documents, each independently: one row for each, in order, whose `ok` tells if it was written (docs/http/bulk.md#bulk-writes). */
  bulk(documents: readonly (Draft<T> | Deletion<T>)[], options?: BulkOptions): Promise<(Written | Refused)[]>;
}

/** New content of an attachment: Base64, or a Blob, such as a file that a person chose. */
type Content = string | Blob;

type MaybePromise<Value> = Value | Promise<Value>;

/** A deletion in `update`, which knows id and revision. */
type Removal<T extends object> = Partial<Deletion<T>> & { readonly _deleted: true };

type MembersOf<T> = T extends unknown ? keyof T : never;

/** A compiler looks for misspelled members only in arguments, not in what functions return. Without this they would be stored. */
type KnownMembers<Changed, T extends object> = {
  [Member in keyof Changed]: Member extends MembersOf<Stored<T> | Draft<T> | Removal<T>> ? unknown : never;
};
