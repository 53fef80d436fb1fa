/**
 * A database that is created by the first write into it. Until then it is in no list, and only the requests that would
 * create it can see it.
 */

import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { Database, VerifyReport } from '../store/contract.ts';
import type { StoredDatabase } from '../store/stored-database.ts';
import type { DatabaseEvent, FormerNote, Lease, Registry } from './contract.ts';

export interface Draft {
  readonly database: StoredDatabase;
  readonly file: string;
  users: number;
  /** `listed`: it is an ordinary database, which `lease` keeps open for the users. `gone`: its file is being removed. */
  state: 'draft' | 'listed' | 'gone';
  lease: Lease | undefined;
}

/** Whether anything was written, including writes that were accepted to be written later, and a security object. */
export async function isWritten(database: Database): Promise<boolean> {
  if (database.updateSeq > 0 || database.security !== '{}') return true;
  await database.flush();
  const snapshot = database.snapshot();
  try {
    return snapshot.updateSeq > 0 || (await snapshot.localCount()) > 0;
  } finally {
    snapshot.release();
  }
}

/** The registry, in which a draft is an existing and open database. */
export class RegistryWithDraft implements Registry {
  readonly #registry: Registry;
  readonly #name: string;
  readonly #database: Database;

  constructor(registry: Registry, name: string, database: Database) {
    this.#registry = registry;
    this.#name = name;
    this.#database = database;
  }

  has(name: string): boolean {
    return name === this.#name || this.#registry.has(name);
  }

  use<T>(name: string, use: (database: Database) => MaybePromise<T>): MaybePromise<T> {
    return name === this.#name ? use(this.#database) : this.#registry.use(name, use);
  }

  peek(name: string): Database | undefined {
    return name === this.#name ? this.#database : this.#registry.peek(name);
  }

  async acquire(name: string): Promise<Lease> {
    if (name !== this.#name) return this.#registry.acquire(name);
    return { database: this.#database, release: () => undefined };
  }

  get serverUuid(): string {
    return this.#registry.serverUuid;
  }

  get settings(): string | undefined {
    return this.#registry.settings;
  }

  get openCount(): number {
    return this.#registry.openCount;
  }

  keepSettings(text: string): Promise<void> {
    return this.#registry.keepSettings(text);
  }

  get notes(): ReadonlyMap<string, string> {
    return this.#registry.notes;
  }

  keepNote(name: string, text: string | undefined, former?: FormerNote): Promise<void> {
    return this.#registry.keepNote(name, text, former);
  }

  names(): readonly string[] {
    return this.#registry.names();
  }

  create(name: string): Promise<void> {
    return this.#registry.create(name);
  }

  createIfMissing(name: string): Promise<boolean> {
    return this.#registry.createIfMissing(name);
  }

  createByWriting<T>(name: string, write: (registry: Registry) => MaybePromise<T>): Promise<T> {
    return this.#registry.createByWriting(name, write);
  }

  delete(name: string): Promise<void> {
    return this.#registry.delete(name);
  }

  verifyList(): Promise<VerifyReport> {
    return this.#registry.verifyList();
  }

  onEvent(listener: (event: DatabaseEvent) => void): () => void {
    return this.#registry.onEvent(listener);
  }

  close(): Promise<void> {
    return this.#registry.close();
  }
}
