/** Notices what other tabs change: asks a database about once a second for its sequence number, while the page is seen. */
import { coalesce } from '../elements/coalesce.ts';
import type { Database, DatabaseInfo } from './database.ts';

const PAUSE_MS = 1000;

export class Watcher {
  /** Asks at once, or as soon as the question that is under way is answered. */
  readonly check: () => Promise<void>;
  readonly #database: Database;
  readonly #onChange: (info: DatabaseInfo | undefined) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOn = false;
  #seen: string | undefined;

  /** `onChange` is called with the first answer, and then whenever something changed; undefined: the database is not there. */
  constructor(database: Database, onChange: (info: DatabaseInfo | undefined) => void) {
    this.#database = database;
    this.#onChange = onChange;
    this.check = coalesce(() => this.#check());
  }

  start(): void {
    this.#isOn = true;
    document.addEventListener('visibilitychange', this.#checkNow);
    this.#checkNow();
  }

  stop(): void {
    this.#isOn = false;
    clearTimeout(this.#timer);
    document.removeEventListener('visibilitychange', this.#checkNow);
  }

  readonly #checkNow = (): void => {
    void this.check();
  };

  async #check(): Promise<void> {
    clearTimeout(this.#timer);
    if (document.hidden) return;
    try {
      const info = await this.#database.info();
      const state = JSON.stringify([info?.updateSeq, info?.documents]);
      const isNew = state !== this.#seen;
      this.#seen = state;
      if (isNew) this.#onChange(info);
    } catch {
      // It answers again when another tab has taken over; the next question will tell.
    }
    if (this.#isOn) this.#timer = setTimeout(this.#checkNow, PAUSE_MS);
  }
}
