import { orElse } from '../../shared/maybe-promise.ts';
import type { PageNumber } from '../../storage/page-store.ts';
import type { Log } from '../../system/contract.ts';
import { bodyGarbage } from '../state/state.ts';
import type { DatabaseCore } from '../writing/writer.ts';
import type { MaintenanceSource } from './maintenance-source.ts';
import type { Repacker } from './repacker.ts';

/** Bytes of garbage in body pages for which what repacks them is loaded. */
const WORTH_LOADING = 4 * 2 ** 20;

/** Who empties body pages, and those that were emptied, until a checkpoint frees them. */
export class EmptiedPages {
  /** Pages that can't be emptied. */
  readonly damaged = new Set<PageNumber>();
  readonly #core: DatabaseCore;
  readonly #maintenance: MaintenanceSource | undefined;
  readonly #log: Log;
  #repacker: Repacker | undefined;
  #dropped: PageNumber[] = [];

  constructor(core: DatabaseCore, maintenance: MaintenanceSource | undefined, log: Log) {
    this.#core = core;
    this.#maintenance = maintenance;
    this.#log = log;
  }

  /** Undefined where it is not at hand. The next checkpoint may have it then; for little garbage it is not worth loading. */
  repacker(): Repacker | undefined {
    if (this.#repacker !== undefined || this.#maintenance === undefined) return this.#repacker;
    const maintenance = this.#maintenance.now();
    if (maintenance !== undefined) this.#repacker = new maintenance.Repacker(this.#core, this);
    else if (bodyGarbage(this.#core.state) >= WORTH_LOADING) {
      const loading = orElse<unknown>(this.#maintenance.load, (error) =>
        this.#log.error('body pages with garbage can not be emptied yet', error),
      );
      // Neither way fails.
      void loading;
    }
    return this.#repacker;
  }

  add(pages: readonly PageNumber[]): void {
    this.#dropped.push(...pages);
  }

  /** Pages that were emptied since the last call; they are garbage once a checkpoint has stored the present state. */
  take(): PageNumber[] {
    const dropped = this.#dropped;
    this.#dropped = [];
    return dropped;
  }

  /** Gives back what `take` gave, when the checkpoint failed. */
  putBack(pages: readonly PageNumber[]): void {
    this.#dropped = [...pages, ...this.#dropped];
  }

  get areThere(): boolean {
    return this.#dropped.length > 0;
  }
}
