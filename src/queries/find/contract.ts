import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { CommitRight, Database, DatabaseUser, Durability } from '../../database/store/contract.ts';

/** Selector queries and their indexes (docs/http/find.md), for the HTTP layer. Bodies are JSON objects. */
export interface Finder {
  /**
   * Runs a query. Fails with 400 where the query is invalid, and as reading and building an index do. The answer must be
   * released, also after it was read to its end.
   */
  find(database: Database, body: JsonObject): Promise<FindAnswer>;
  /**
   * What tells whether a document, given as its JSON text, fulfils a selector; others have turns meanwhile where that takes long. Fails
   * with 400 where the selector is invalid, and later where a document takes too many steps.
   */
  test(selector: unknown): (document: string) => MaybePromise<boolean>;
  /** The `fields` of a query: makes of a document's JSON text what the query shows of it. Fails with 400 where they are invalid. */
  projection(fields: unknown): MaybePromise<(text: string) => MaybePromise<string>>;
  /** How a query would be run, and why: JSON text. Builds no index. */
  explain(database: Database, body: JsonObject): Promise<string>;
  /** The database's indexes in the form of `GET _index`, beginning with the one of all documents. */
  indexes(database: Database): Promise<readonly JsonObject[]>;
  /** Writes an index's definition, after which the index is built in the background. JSON text for the answer. */
  createIndex(database: Database, body: JsonObject, writer: IndexWriter): Promise<string>;
  /** Removes an index, and its design document where it was the last one there. `not_found` "missing". */
  deleteIndex(database: Database, index: IndexAddress, writer: IndexWriter): Promise<void>;
  /** Removes design documents of indexes: `{"docids": […]}`. JSON text for the answer. */
  deleteIndexes(database: Database, body: JsonObject, writer: IndexWriter): Promise<string>;
}

export type JsonObject = Readonly<Record<string, unknown>>;

export interface FindAnswer {
  /** JSON text in pieces. */
  readonly pieces: AsyncGenerator<string, void, void>;
  /** Releases what the pieces are read from. To be called once, in every case. */
  release(): void;
}

export interface IndexAddress {
  /** With `_design/` or without. */
  readonly design: string;
  readonly type: string;
  readonly name: string;
}

/** The user who writes a design document, with the right to do so, and the durability of the write. */
export interface IndexWriter {
  readonly durability: Durability;
  readonly user: DatabaseUser | undefined;
  readonly right?: CommitRight | undefined;
}
