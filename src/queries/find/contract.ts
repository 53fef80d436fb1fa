import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { CommitRight, Database, DatabaseUser, Durability } from '../../database/store/contract.ts';

/** Selector queries and their indexes (docs/http/find.md), for the HTTP layer. Bodies are JSON objects. */
export interface Finder {
  /**
   * Runs a query. Fails with 400 if the query is invalid, and as reading and building an index do. The response must be
   * released, even after it was read to its end.
   */
  find(database: Database, body: JsonObject): Promise<FindAnswer>;
  /**
   * Returns a test of whether a document, given as its JSON text, fulfils a selector; a long test yields to other work. Fails
   * with 400 if the selector is invalid, and later if a document takes too many steps.
   */
  test(selector: unknown): (document: string) => MaybePromise<boolean>;
  /** Turns the `fields` of a query into a function that cuts a document's JSON text down to them. Fails with 400 if they are invalid. */
  projection(fields: unknown): MaybePromise<(text: string) => MaybePromise<string>>;
  /** Returns how a query would be run, and why, as JSON text. Builds no index. */
  explain(database: Database, body: JsonObject): Promise<string>;
  /** Returns the database's indexes in the form of `GET _index`, beginning with the one of all documents. */
  indexes(database: Database): Promise<readonly JsonObject[]>;
  /** Writes an index's definition, after which the index is built in the background. Returns the JSON text of the response. */
  createIndex(database: Database, body: JsonObject, writer: IndexWriter): Promise<string>;
  /** Removes an index, and its design document if it was the last one there. Fails with `not_found` "missing". */
  deleteIndex(database: Database, index: IndexAddress, writer: IndexWriter): Promise<void>;
  /** Removes design documents of indexes: `{"docids": […]}`. Returns the JSON text of the response. */
  deleteIndexes(database: Database, body: JsonObject, writer: IndexWriter): Promise<string>;
}

export type JsonObject = Readonly<Record<string, unknown>>;

export interface FindAnswer {
  /** JSON text in pieces. */
  readonly pieces: AsyncGenerator<string, void, void>;
  /** Releases what the pieces are read from. Must always be called, once. */
  release(): void;
}

export interface IndexAddress {
  /** With or without `_design/`. */
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
