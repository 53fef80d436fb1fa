/** What happens to the documents of a database, whichever tab does it; what comes at about the same time is handed on together. */
import type { Database, StoredDocument } from '../data/database.ts';
import type { Connections } from './connections.ts';
import { Feed } from './feed.ts';

export interface Change {
  readonly id: string;
  readonly rev: string;
  /** Undefined: it was deleted. */
  readonly document: StoredDocument | undefined;
  /** This page wrote it. */
  readonly isOwn: boolean;
}

export interface ChangesHost {
  /** Changes from now on will be told. */
  onBegin(): void;
  onChanges(changes: readonly Change[]): void;
}

/** An event of `_changes?include_docs=true`. */
interface ChangeEvent {
  readonly id: string;
  readonly changes: readonly { readonly rev: string }[];
  readonly deleted?: boolean;
  readonly doc: StoredDocument | null;
}

/** Too short for anybody to notice, long enough for a hundred documents that another tab loads. */
const TOGETHER_MS = 100;

export class Changes {
  readonly #database: Database;
  readonly #host: ChangesHost;
  readonly #feed: Feed<ChangeEvent>;
  #waiting: ChangeEvent[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(database: Database, connections: Connections, host: ChangesHost) {
    this.#database = database;
    this.#host = host;
    this.#feed = new Feed(database.changesAddress, connections, {
      onOpen: (anew) => {
        if (anew) host.onBegin();
      },
      onEvent: (event) => this.#collect(event),
    });
  }

  open(): void {
    this.#feed.open();
  }

  close(): void {
    this.#feed.close();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting = [];
  }

  #collect(event: ChangeEvent): void {
    // Design documents say how the others are looked at; the page does not show them.
    if (event.id.startsWith('_design/')) return;
    this.#waiting.push(event);
    this.#timer ??= setTimeout(() => void this.#handOn(), TOGETHER_MS);
  }

  async #handOn(): Promise<void> {
    // A change may be told before the answer to the write that made it: only then is it known whose it is.
    await this.#database.ownWrites();
    this.#timer = undefined;
    const events = this.#waiting;
    this.#waiting = [];
    if (events.length > 0) this.#host.onChanges(events.map((event) => this.#toChange(event)));
  }

  #toChange({ id, changes, deleted, doc }: ChangeEvent): Change {
    const rev = changes[0]?.rev ?? '';
    return { id, rev, document: deleted || !doc ? undefined : doc, isOwn: this.#database.hasWritten(rev) };
  }
}
