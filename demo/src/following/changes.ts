/** What happens to the documents of a database, whichever tab does it; changes that come at about the same time are passed on together. */
import type { ChangeRow, Database, StoredDocument } from '../data/database.ts';
import type { Connections } from './connections.ts';
import { LineFeed } from './line-feed.ts';

export interface Change {
  readonly id: string;
  readonly rev: string;
  /** Undefined: it was deleted. */
  readonly document: StoredDocument | undefined;
  /** This page wrote it. */
  readonly isOwn: boolean;
}

export interface ChangesHost {
  /** Changes from now on will be reported: time to read the present state. */
  onBegin(): void;
  onChanges(changes: readonly Change[]): void;
}

/** Too short to be noticed, long enough for a hundred documents that another tab loads. */
const TOGETHER_MS = 100;

/** A row, or the line that ends a feed. */
type Line = ChangeRow | { readonly last_seq: number };

export class Changes {
  readonly #database: Database;
  readonly #host: ChangesHost;
  readonly #feed: LineFeed<Line>;
  #waiting: ChangeRow[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The change after which the feed continues; undefined: it has not begun. */
  #since: number | undefined;
  #hasBegun = false;

  constructor(database: Database, connections: Connections, host: ChangesHost) {
    this.#database = database;
    this.#host = host;
    this.#feed = new LineFeed(connections, {
      // Not from `now`: a feed that is interrupted before it reported anything must resume from where it began.
      connect: async (signal) => {
        const since = this.#since ?? (await database.info()).updateSeq;
        if (!signal.aborted) this.#since = since;
        return database.changes(since, signal);
      },
      onOpen: () => {
        if (!this.#hasBegun) host.onBegin();
        this.#hasBegun = true;
      },
      onLines: (lines) => this.#collect(lines),
    });
  }

  /** Does nothing if it is already open. */
  open(): void {
    this.#feed.open();
  }

  close(): void {
    this.#feed.close();
    this.#since = undefined;
    this.#hasBegun = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting = [];
  }

  #collect(lines: readonly Line[]): void {
    const rows = lines.filter((line) => 'id' in line);
    this.#since = rows.at(-1)?.seq ?? this.#since;
    this.#waiting.push(...rows);
    this.#timer ??= setTimeout(() => void this.#handOn(), TOGETHER_MS);
  }

  async #handOn(): Promise<void> {
    const timer = this.#timer;
    // A change may be reported before the response to the write that made it: only after that is its author known.
    await this.#database.ownWrites();
    // It was closed meanwhile.
    if (this.#timer !== timer) return;
    this.#timer = undefined;
    const rows = this.#waiting;
    this.#waiting = [];
    // Design documents only define how the others are viewed; the page does not show them.
    const shown = rows.filter(({ id }) => !id.startsWith('_design/'));
    if (shown.length > 0) this.#host.onChanges(shown.map((row) => this.#toChange(row)));
  }

  #toChange({ id, changes, deleted, doc }: ChangeRow): Change {
    const rev = changes[0]?.rev ?? '';
    return { id, rev, document: deleted || !doc ? undefined : doc, isOwn: this.#database.hasWritten(rev) };
  }
}
