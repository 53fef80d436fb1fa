/** Notices what other tabs change: asks a database about once a second for its sequence number, while the page is seen. */
import { coalesce } from './coalesce.ts';
import type { Database, DatabaseInfo } from './database.ts';

const PAUSE_MS = 1000;

export class Watcher {
  /** Looks at once, or as soon as the look that is under way has ended. */
  readonly look: () => Promise<void>;
  readonly #database: Database;
  readonly #onChange: (info: DatabaseInfo | undefined) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOn = false;
  #seen: string | undefined;

  /** `onChange` is called with the first answer, and then whenever something changed; undefined: the database is not there. */
  constructor(database: Database, onChange: (info: DatabaseInfo | undefined) => void) {
    this.#database = database;
    this.#onChange = onChange;
    this.look = coalesce(() => this.#look());
  }

  start(): void {
    this.#isOn = true;
    document.addEventListener('visibilitychange', this.#lookOn);
    this.#lookOn();
  }

  stop(): void {
    this.#isOn = false;
    clearTimeout(this.#timer);
    document.removeEventListener('visibilitychange', this.#lookOn);
  }

  readonly #lookOn = (): void => {
    void this.look();
  };

  async #look(): Promise<void> {
    clearTimeout(this.#timer);
    if (document.hidden) return;
    try {
      const info = await this.#database.info();
      const state = JSON.stringify([info?.updateSeq, info?.documents]);
      const isNew = state !== this.#seen;
      this.#seen = state;
      if (isNew) this.#onChange(info);
    } catch {
      // It answers again when another tab has taken over; the next look will tell.
    }
    if (this.#isOn) this.#timer = setTimeout(this.#lookOn, PAUSE_MS);
  }
}
