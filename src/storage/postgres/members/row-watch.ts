interface WatchedRow {
  readonly id: string;
  readonly beats: number;
  /** Whether its lease has ended by the clock of the database server that took its last beat. */
  readonly isOver: boolean;
}

/**
 * Tells which servers are dead: their leases have ended by the clock that took their last beats, or they were watched for a whole lease without a beat,
 * through one database server. Another one may lack later beats.
 */
export class RowWatch<T extends WatchedRow> {
  readonly #leaseMs: number;
  #server: string | undefined;
  #seen = new Map<string, { readonly beats: number; readonly since: number }>();

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  /** `server`: the database server that returned the rows. `askedAt`: a time of `performance.now` before it was asked. Returns the dead ones. */
  note(server: string, rows: readonly T[], askedAt: number): readonly T[] {
    const before = server === this.#server ? this.#seen : new Map<string, { beats: number; since: number }>();
    const now = performance.now();
    this.#server = server;
    this.#seen = new Map(
      rows.map(({ id, beats }) => {
        const former = before.get(id);
        return [id, { beats, since: former?.beats === beats ? former.since : now }];
      }),
    );
    return rows.filter(({ id, isOver }) => isOver || askedAt - (this.#seen.get(id)?.since ?? now) >= this.#leaseMs);
  }

  /** To be called when the database server was not reached: what was seen need not be so any more. */
  forget(): void {
    this.#server = undefined;
    this.#seen.clear();
  }
}
