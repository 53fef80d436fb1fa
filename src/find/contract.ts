import type { Database, DatabaseUser, Durability } from '../database/contract.ts';

/** Selector queries and their indexes (completion 23), as the HTTP layer sees them. Bodies are JSON objects. */
export interface Finder {
  /**
   * Runs a query. Fails with 400 on what can't be asked, and with what reading and building an index fail with.
   * Whatever is given must be read to its end, or released.
   */
  find(database: Database, body: JsonObject): Promise<FindAnswer>;
  /** How a query would be run, and why so: JSON text. Builds no index. */
  explain(database: Database, body: JsonObject): Promise<string>;
  /** The database's indexes, in the form of `GET _index`, the one of all documents first. */
  indexes(database: Database): Promise<readonly JsonObject[]>;
  /** Writes an index's definition, which begins its build in the background. JSON text for the answer. */
  createIndex(database: Database, body: JsonObject, writer: IndexWriter): Promise<string>;
  /** Removes an index, and its design document where that has no other. `not_found` "missing". */
  deleteIndex(database: Database, index: IndexAddress, writer: IndexWriter): Promise<void>;
  /** Removes design documents of indexes: `{"docids": […]}`. JSON text for the answer. */
  deleteIndexes(database: Database, body: JsonObject, writer: IndexWriter): Promise<string>;
}

export type JsonObject = Readonly<Record<string, unknown>>;

export interface FindAnswer {
  /** JSON text in pieces. */
  readonly pieces: AsyncGenerator<string, void, void>;
  /** Gives up what the pieces are read from. Once, in every case. */
  release(): void;
}

export interface IndexAddress {
  /** With `_design/` or without. */
  readonly design: string;
  readonly type: string;
  readonly name: string;
}

/** Who writes a design document, and how. */
export interface IndexWriter {
  readonly durability: Durability;
  readonly user: DatabaseUser | undefined;
}
