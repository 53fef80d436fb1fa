/** Brings what a database has into a collection, from one start of the collection to its cleanup. */
import { pause } from '../../../base/shared/clock.ts';
import type { Stored } from '../../interface/documents.ts';
import type { Follower } from '../shared-feed.ts';
import type { SyncParameters } from './contract.ts';
import { mayEnd } from './refusals.ts';
import type { Source } from './sources.ts';

/** After a failure: the first pause before it is tried again, and the longest. */
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;

/** A read that a query has asked for. */
export interface Load {
  /** Reads some documents. Returns whether that was all. */
  step(apply: Apply): Promise<boolean>;
  isOver(): boolean;
  done(): void;
  failed(error: unknown): void;
}

/** Returns what `commit` of the collection returns. */
export type Apply = (documents: readonly object[]) => unknown;

export interface SyncRunOptions<T extends object> {
  readonly parameters: SyncParameters<T>;
  /** What must be read as a whole if changes may have been missed. */
  sources(): readonly Source<T>[];
  /** All that is followed, as one. Undefined if nothing is. */
  combined(): Source<T> | undefined;
  onError(error: unknown): void;
}

interface Sweep<T> {
  readonly sources: readonly Source<T>[];
  readonly seen: Set<string>;
  index: number;
  at: unknown;
}

/**
 * Sends one request at a time, so that no response is older than one that is shown already. Changed documents come first, then what queries wait for,
 * then the pages of a whole source.
 */
export class SyncRun<T extends object> implements Follower {
  readonly #options: SyncRunOptions<T>;
  /** What the collection has, by id: enough to tell whether it is the same. */
  readonly #known = new Map<string, string>();
  /** Removed rows that may still be in the collection, which shows nothing new while a change of the app is stored. They are no new rows for it. */
  readonly #removed = new Set<string>();
  #changed = new Set<string>();
  /** Documents with a write that has no response yet, and whether the feed has reported a change of them meanwhile. */
  readonly #writing = new Map<string, { count: number; isReported: boolean }>();
  #waiting = new Map<string, (() => void)[]>();
  #loads: Load[] = [];
  /** Loads that have failed, and are tried again after all other work: what is refused to one query must not stop the others. */
  readonly #refused = new WeakSet<Load>();
  #sweep: Sweep<T> | undefined;
  #isFollowing = false;
  /** Whether a read has succeeded: then what is shown stays as it is while others fail. */
  #hasRead = false;
  /** Ends the pause after a failure. */
  #wake: (() => void) | undefined;
  #isWorking = false;
  #hasEnded = false;

  constructor(options: SyncRunOptions<T>) {
    this.#options = options;
  }

  changed(ids: ReadonlySet<string> | undefined): void {
    this.#isFollowing = true;
    if (ids === undefined) {
      for (const id of this.#waiting.keys()) this.#changed.add(id);
      for (const writing of this.#writing.values()) writing.isReported = true;
      this.#sweep = { sources: this.#options.sources(), seen: new Set(), index: 0, at: undefined };
    }
    // The view or the rights that a read lacked may be there now.
    if (ids === undefined || [...ids].some((id) => id.startsWith('_design/'))) this.#wake?.();
    for (const id of ids ?? []) {
      const writing = this.#writing.get(id);
      if (writing) writing.isReported = true;
      else this.#changed.add(id);
    }
    void this.#work();
  }

  failed(error: unknown): void {
    this.#isFollowing = false;
    this.#report(error);
    if (mayEnd(error)) return;
    for (const load of this.#loads.splice(0)) load.failed(error);
  }

  load(load: Load): void {
    this.#loads.push(load);
    this.#wake?.();
    void this.#work();
  }

  /** Writes of these documents begin. */
  beginWrite(ids: readonly string[]): void {
    for (const id of ids) {
      const writing = this.#writing.get(id) ?? { count: 0, isReported: false };
      writing.count++;
      this.#writing.set(id, writing);
    }
  }

  /** They have ended: changes that were reported meanwhile are read now. */
  endWrite(ids: readonly string[]): void {
    for (const id of ids) {
      const writing = this.#writing.get(id);
      if (writing === undefined || --writing.count > 0) continue;
      this.#writing.delete(id);
      if (writing.isReported) this.#changed.add(id);
    }
    void this.#work();
  }

  /** Resolves when a read of the document that begins from now on is in the collection, or nothing is followed any more. */
  shown(id: string): Promise<void> {
    if (this.#hasEnded) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.set(id, [...(this.#waiting.get(id) ?? []), resolve]);
    });
  }

  /** The same, if nothing may have changed. */
  read(id: string): Promise<void> {
    const shown = this.shown(id);
    this.#changed.add(id);
    void this.#work();
    return shown;
  }

  end(): void {
    this.#hasEnded = true;
    this.#resolve(this.#waiting);
    this.#waiting.clear();
    for (const load of this.#loads.splice(0)) load.done();
  }

  async #work(): Promise<void> {
    if (this.#isWorking) return;
    this.#isWorking = true;
    let ms = FIRST_PAUSE_MS;
    while (!this.#hasEnded && this.#hasWork()) {
      try {
        await this.#step();
        ms = FIRST_PAUSE_MS;
      } catch (error) {
        if (this.#hasEnded) break;
        this.#report(error);
        await Promise.race([pause(ms), new Promise<void>((resolve) => (this.#wake = resolve))]);
        ms = Math.min(2 * ms, MAX_PAUSE_MS);
      }
    }
    this.#isWorking = false;
  }

  #hasWork(): boolean {
    const hasRead = this.#changed.size > 0 || this.#loads.length > 0 || this.#sweep !== undefined;
    return this.#isFollowing && hasRead;
  }

  #report(error: unknown): void {
    if (this.#hasEnded) return;
    this.#options.onError(error);
    if (!this.#hasRead) this.#options.parameters.markError(error);
  }

  async #step(): Promise<void> {
    if (this.#changed.size > 0) return this.#readChanged();
    const load = this.#loads.find((one) => !this.#refused.has(one));
    if (load) return this.#stepLoad(load);
    if (this.#sweep) return this.#readPage(this.#sweep);
    const [refused] = this.#loads;
    if (refused) return this.#stepLoad(refused);
  }

  async #readChanged(): Promise<void> {
    const source = this.#options.combined();
    const ids = [...this.#changed].slice(0, source?.maxIds);
    const waiting = new Map<string, (() => void)[]>();
    for (const id of ids) {
      this.#changed.delete(id);
      const resolves = this.#waiting.get(id);
      if (resolves) waiting.set(id, resolves);
      this.#waiting.delete(id);
    }
    try {
      const found = (await source?.among(ids)) ?? [];
      const ofFound = new Set(found.map(({ _id }) => _id));
      this.#write(
        found,
        ids.filter((id) => !ofFound.has(id)),
      );
    } catch (error) {
      for (const id of ids) this.#changed.add(id);
      for (const [id, resolves] of waiting) this.#waiting.set(id, [...resolves, ...(this.#waiting.get(id) ?? [])]);
      throw error;
    }
    this.#resolve(waiting);
  }

  async #stepLoad(load: Load): Promise<void> {
    const others = () => this.#loads.filter((other) => other !== load);
    let hasRead = false;
    try {
      if (!load.isOver()) {
        if (!(await load.step((documents) => this.#write(documents as readonly Stored<T>[])))) return;
        hasRead = true;
      }
      load.done();
    } catch (error) {
      if (mayEnd(error)) {
        this.#refused.add(load);
        if (this.#loads.includes(load)) this.#loads = [...others(), load];
        throw error;
      }
      if (!this.#hasEnded) this.#options.onError(error);
      load.failed(error);
    }
    this.#loads = others();
    this.#ready(hasRead);
  }

  async #readPage(sweep: Sweep<T>): Promise<void> {
    const source = sweep.sources[sweep.index];
    const { documents, next } = (await source?.page(sweep.at)) ?? { documents: [], next: undefined };
    // Another one has begun, if the feed failed meanwhile.
    if (sweep !== this.#sweep) return;
    this.#write(documents);
    sweep.at = next;
    if (next === undefined) sweep.index++;
    if (sweep.index < sweep.sources.length) return;
    this.#sweep = undefined;
    this.#write(
      [],
      [...this.#known.keys()].filter((id) => !sweep.seen.has(id)),
    );
    // On demand there may be nothing to read.
    this.#ready(sweep.sources.length > 0);
  }

  #ready(hasRead: boolean): void {
    this.#hasRead ||= hasRead;
    if (!this.#hasEnded) this.#options.parameters.markReady();
  }

  /** What the collection has already is not written again. */
  #write(found: readonly Stored<T>[], gone: readonly string[] = []): unknown {
    if (this.#hasEnded) return true;
    const { begin, write, commit } = this.#options.parameters;
    const written = new Map(found.filter(({ _id }) => !_id.startsWith('_design/')).map((row) => [row._id, row]));
    for (const [id, row] of written) {
      this.#sweep?.seen.add(id);
      if (this.#known.get(id) === versionOf(row)) written.delete(id);
    }
    const removed = gone.filter((id) => this.#known.has(id));
    if (written.size === 0 && removed.length === 0) return true;
    begin();
    for (const [id, row] of written) {
      write({ type: this.#known.has(id) || this.#removed.has(id) ? 'update' : 'insert', value: row });
      this.#known.set(id, versionOf(row));
    }
    for (const id of removed) {
      write({ type: 'delete', key: id });
      this.#known.delete(id);
      this.#removed.add(id);
    }
    const shown = commit();
    if (shown === true) this.#removed.clear();
    return shown;
  }

  #resolve(waiting: ReadonlyMap<string, readonly (() => void)[]>): void {
    for (const resolves of waiting.values()) for (const resolve of resolves) resolve();
  }
}

function versionOf({ _rev, _conflicts = [] }: { readonly _rev: string; readonly _conflicts?: readonly string[] }) {
  return [_rev, ..._conflicts].join();
}
