import type { CacheBudget } from '../../../base/shared/cache-budget.ts';
import { type Clock, startBackgroundTimer } from '../../../base/shared/clock.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { DatabaseOrigin } from '../../../database/store/contract.ts';
import type { FollowedFile, FollowedPoint, FollowedState, PageStoreSupport } from '../../../storage/page-store.ts';
import { PageCache } from '../../../storage/paging/page-cache.ts';
import { readOnlyError } from '../../../storage/paging/page-errors.ts';
import { SnapshotRegister } from '../../../storage/paging/snapshot-register.ts';
import type { ViewSettings } from '../settings.ts';
import type { GroupDefinition } from '../trees/definition.ts';
import type { IndexState } from '../trees/index-state.ts';
import type { TreeOrder } from '../trees/tree-order.ts';
import { type FollowedHead, openHead, toOwnersError } from './followed-head.ts';
import { HeldStates } from './held-states.ts';

/** While a head that was looked at within this time has all that a query needs, it is not looked at again. */
const FRESH_MS = 50;
/** A head that no one has asked for during this time is no longer held: the owner may drop its pages. */
const IDLE_MS = 2_000;
/** How often an index that no one asks for is looked at: if it was removed, its space on the medium is free when no one has it open. */
const REMOVAL_MS = 30_000;

export interface IndexFollowerOptions {
  readonly definition: GroupDefinition;
  readonly supports: PageStoreSupport;
  readonly settings: Pick<ViewSettings, 'snapshotMaxAgeMs'>;
  readonly cache: CacheBudget;
  readonly clock: Clock;
  /** The version of the collation (`collationVersion`). */
  readonly collation: string;
}

/** A head of the owner, and what was mapped since. */
export interface Present extends FollowedHead {
  readonly state: IndexState;
  /** The opening of the database whose history the state reflects. */
  readonly origin: Pick<DatabaseOrigin, 'uuid' | 'epoch'>;
}

/**
 * Follows the file of an index from one head to the next. States of former heads stay readable while they are read. Steps that change the present state
 * run one after another. Failures of the storage become `not_owner`.
 */
export class IndexFollower {
  readonly snapshots: SnapshotRegister;
  /** Whether the file can't be followed any more. */
  hasFailed = false;
  readonly #file: FollowedFile;
  readonly #options: IndexFollowerOptions;
  readonly #orders: readonly TreeOrder[];
  readonly #pages: PageCache;
  readonly #held: HeldStates;
  #lastStep: Promise<unknown> = Promise.resolve();
  #refreshing: Promise<void> | undefined;
  #point: FollowedPoint | undefined;
  #present: Present | undefined;
  /** Of the last state: versions only grow. */
  #version = 0;
  #isHeld = false;
  #refreshedAt = 0;
  #stopTimer = (): void => undefined;
  #isClosed = false;

  constructor(file: FollowedFile, orders: readonly TreeOrder[], options: IndexFollowerOptions) {
    const { cache, clock, settings } = options;
    this.#file = file;
    this.#orders = orders;
    this.#options = options;
    this.#pages = new PageCache(cache);
    this.snapshots = new SnapshotRegister(clock, settings.snapshotMaxAgeMs, () => this.#held.releaseOld());
    this.#held = new HeldStates(this.snapshots);
  }

  get isRefreshing(): boolean {
    return this.#refreshing !== undefined;
  }

  get present(): Present | undefined {
    return this.#present;
  }

  /** Whether the present head is held, and was the last one a moment ago. */
  get wasRefreshed(): boolean {
    if (!this.#isHeld || this.#isClosed) return false;
    return this.#options.clock.monotonic() - this.#refreshedAt < FRESH_MS;
  }

  /** Fails with `not_owner` if nothing of the index can be read. */
  mustHave(): Present {
    this.mustBeOpen();
    if (this.#present === undefined) throw this.notOwner();
    return this.#present;
  }

  mustBeOpen(): void {
    if (this.#isClosed) throw this.notOwner();
  }

  notOwner(): Error {
    return readOnlyError(this.#file.name);
  }

  /** Uses the head that the owner has stored last. Callers share a poll that runs: changes after any head are mapped in any case. */
  refresh(): MaybePromise<void> {
    this.mustBeOpen();
    this.#refreshedAt = this.#options.clock.monotonic();
    if (this.#refreshing !== undefined) return this.#refreshing;
    const polled = this.#poll();
    if (polled === undefined) return;
    if (!(polled instanceof Promise) && this.#isPresent(polled)) {
      this.#hold(polled);
      return;
    }
    const refreshing = this.inOrder(async () => this.#adopt(await polled)).finally(() => {
      this.#refreshing = undefined;
    });
    this.#refreshing = refreshing;
    return refreshing;
  }

  #poll(): MaybePromise<FollowedState | undefined> {
    try {
      const polled = this.#file.poll(this.#point, this.#present !== undefined && !this.#isHeld);
      return polled instanceof Promise ? polled.catch((error: unknown) => this.#lose(error)) : polled;
    } catch (error) {
      return this.#lose(error);
    }
  }

  /** The file was removed, or can't be read at the moment. */
  #lose(error: unknown): never {
    this.hasFailed = true;
    throw toOwnersError(error, this.#file.name);
  }

  #isPresent({ point }: FollowedState): boolean {
    return this.#present !== undefined && point.head === this.#present.text;
  }

  async #adopt(polled: FollowedState | undefined): Promise<void> {
    if (polled === undefined) return;
    try {
      this.mustBeOpen();
      if (this.#isPresent(polled)) this.#hold(polled);
      else {
        const opened = await openHead(
          { ...this.#options, file: this.#file, cache: this.#pages, orders: this.#orders },
          polled,
        );
        this.mustBeOpen();
        this.#use(opened, polled);
      }
    } catch (error) {
      polled.release();
      this.forgetHead();
      throw error;
    }
  }

  #use(opened: FollowedHead | undefined, polled: FollowedState): void {
    if (opened === undefined) {
      polled.release();
      this.forgetHead();
      this.#point = polled.point;
      return;
    }
    this.#version += 1;
    this.#present = { ...opened, state: { ...opened.stored, version: this.#version }, origin: opened.head };
    this.#hold(polled);
  }

  #hold(polled: FollowedState): void {
    this.#point = polled.point;
    this.#isHeld = true;
    this.#held.add(this.mustHave().state.version, polled);
    this.#stopTimer();
    this.#stopTimer = startBackgroundTimer(IDLE_MS, () => this.#releaseIfIdle());
  }

  #releaseIfIdle(): void {
    if (this.#isClosed) return;
    this.#held.releaseOld();
    const isIdle = !this.isRefreshing && this.#options.clock.monotonic() - this.#refreshedAt >= IDLE_MS;
    if (isIdle && this.#held.releaseIfUnread()) {
      this.#isHeld = false;
      this.#stopTimer = startBackgroundTimer(REMOVAL_MS, () => void this.#closeIfRemoved());
    } else this.#stopTimer = startBackgroundTimer(IDLE_MS, () => this.#releaseIfIdle());
  }

  async #closeIfRemoved(): Promise<void> {
    try {
      const polled = await this.#poll();
      polled?.release();
    } catch {
      // It is opened again if a query needs it.
      await this.close();
    }
    if (this.#isClosed || this.#isHeld) return;
    this.#stopTimer = startBackgroundTimer(REMOVAL_MS, () => void this.#closeIfRemoved());
  }

  /** Notes that the present state belongs to that history of the database. */
  setOrigin(origin: Present['origin']): void {
    this.#present = { ...this.mustHave(), origin };
  }

  /** Makes a later state the present one. */
  publish(state: IndexState): void {
    this.#version = state.version;
    this.#present = { ...this.mustHave(), state };
  }

  /** Gives up what was mapped since the head, and the memory that it takes. */
  returnToHead(): void {
    const present = this.#present;
    if (present === undefined) return;
    this.#version += 1;
    this.#present = { ...present, state: { ...present.stored, version: this.#version } };
  }

  /** The head has to be opened again. */
  forgetHead(): void {
    this.#present = undefined;
    this.#point = undefined;
    this.#isHeld = false;
  }

  inOrder<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#lastStep.then(step);
    this.#lastStep = result.catch(() => undefined);
    return result;
  }

  /** Those who still read fail with `not_owner`. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopTimer();
    await this.#lastStep;
    this.forgetHead();
    this.#held.releaseAll();
    this.#pages.close();
    await this.#file.close();
  }
}
