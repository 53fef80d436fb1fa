/** Which databases exist, and how many documents each has. A live reduction counts them, so that nothing needs to be requested again. */
import type { CountEvent, Database } from '../data/database.ts';
import type { Connections } from './connections.ts';
import { Feed } from './feed.ts';

export interface DatabaseWatchHost {
  /** Undefined: there is no such database. */
  onCount(database: Database, documents: number | undefined): void;
  /** Something in it has changed. */
  onUpdated(database: Database): void;
}

interface DatabaseEvent {
  readonly db_name: string;
  readonly type: 'created' | 'updated' | 'deleted';
}

export class DatabaseWatch {
  readonly #databases: readonly Database[];
  readonly #connections: Connections;
  readonly #host: DatabaseWatchHost;
  readonly #events: Feed<DatabaseEvent>;
  /** Of the existing databases. */
  readonly #counts = new Map<Database, Feed<CountEvent>>();

  constructor(databases: readonly Database[], connections: Connections, host: DatabaseWatchHost) {
    this.#databases = databases;
    this.#connections = connections;
    this.#host = host;
    this.#events = new Feed(() => '/db/_db_updates?feed=eventsource', connections, {
      // These events have no ids: none reports what happened while the feed was interrupted.
      onOpen: () => this.#readAll(),
      onEvent: (event) => this.#follow(event),
    });
  }

  start(): void {
    this.#events.open();
  }

  async #readAll(): Promise<void> {
    const states = this.#databases.map(async (database) => [database, await database.exists()] as const);
    for (const [database, exists] of await Promise.all(states)) {
      if (exists) this.#begin(database);
      else this.#end(database);
    }
  }

  #follow({ db_name, type }: DatabaseEvent): void {
    const database = this.#databases.find(({ name }) => name === db_name);
    if (!database) return;
    if (type === 'deleted') this.#end(database);
    else this.#begin(database);
    this.#host.onUpdated(database);
  }

  #begin(database: Database): void {
    if (this.#counts.has(database)) return;
    const feed = new Feed<CountEvent>(() => database.countAddress(), this.#connections, {
      prepare: () => database.prepare(),
      onEvent: ({ rows }) => this.#host.onCount(database, rows[0]?.value ?? 0),
    });
    this.#counts.set(database, feed);
    feed.open();
  }

  #end(database: Database): void {
    this.#counts.get(database)?.close();
    this.#counts.delete(database);
    this.#host.onCount(database, undefined);
  }
}
