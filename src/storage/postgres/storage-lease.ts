import { isDatabaseError } from '../../base/errors/database-error.ts';
import { storageClosed } from '../storage-errors.ts';
import { ConnectionPool } from './connection-pool.ts';
import type { DurableHistory } from './durable-history.ts';
import { BEATS, LastRenewal, lookEveryMs, Pause, times } from './members/lease-times.ts';
import { Members } from './members/members.ts';
import { failureOf } from './postgres-errors.ts';
import { type Owner, type OwnServer, type ServerDescription, ServerRows } from './server-rows.ts';

/**
 * How long a server owns the storage after its last beat, in milliseconds. The next one owns it at most this long, and the time to open its files, after
 * the last sign of life.
 */
const LEASE_MS = 12_000;
/** The same for a server that takes part: the others open its databases after that, and say so to each other. */
const MEMBER_LEASE_MS = 10_000;
/** How long a beat may take, in seconds, before it is sent again on another connection. */
const BEAT_TIMEOUT_S = 2;

export interface LeaseOptions extends ServerDescription {
  /** Default: 12 seconds, and 10 for a server that takes part. */
  readonly leaseMs?: number | undefined;
  /** Whether this server owns databases beside the owner of the storage, see `StorageLease.members`. Default: false. */
  readonly takesPart?: boolean | undefined;
  /** Called when the storage is no longer this server's, although it did not release it, with a sentence that says why. */
  readonly onLost?: ((why: string) => void) | undefined;
  /** Called if a server that stands by can't look for the owner, once until it can again. */
  readonly onUnreached?: ((error: unknown) => void) | undefined;
}

/**
 * The ownership of a storage: one server at a time, and others that stand by. Its owner renews it six times per period, and does not answer after two
 * thirds without a renewal; after the whole period another server may take it. The owner counts from before it sent the renewal that succeeded last,
 * and the database server from after, so the owner always stops first. Clocks of different machines are never compared: if another database server
 * has taken over meanwhile, or has been started again, a server takes the storage only after it has watched for a whole period that it was not renewed.
 */
export class StorageLease {
  readonly #pool: ConnectionPool;
  readonly #history: DurableHistory;
  readonly #rows: ServerRows;
  readonly #self: OwnServer;
  readonly #options: LeaseOptions;
  readonly #leaseMs: number;
  readonly #renewal: LastRenewal;
  /** The servers that take part; undefined if this one does not. */
  readonly members: Members | undefined;
  #isOwner = false;
  #isClosed = false;
  #owner: Owner | undefined;
  #address: string | undefined;
  #waiting = 0;
  #hasSynchronousReplica: boolean | undefined;
  #beating: Promise<void> = Promise.resolve();
  readonly #pause = new Pause();

  private constructor(pool: ConnectionPool, history: DurableHistory, options: LeaseOptions) {
    this.#pool = pool;
    this.#history = history;
    this.#options = options;
    const { described, machine, takesPart = false } = options;
    const { leaseMs = takesPart ? MEMBER_LEASE_MS : LEASE_MS } = options;
    const self = { id: crypto.randomUUID(), described, machine, leaseMs, takesPart };
    this.#self = self;
    this.#leaseMs = leaseMs;
    this.#renewal = new LastRenewal(leaseMs);
    this.#rows = new ServerRows(pool.address.schema, self);
    const onRemoved = () => this.#lose('another server has removed its row');
    if (takesPart) this.members = new Members({ pool, history, self, ownership: this, onRemoved });
  }

  /**
   * It has a connection of its own: a beat must not wait for other statements. A server that takes part is a member then. Rejects if the database server
   * refuses, or is not reached in time.
   */
  static async open(
    { address }: ConnectionPool,
    history: DurableHistory,
    options: LeaseOptions,
  ): Promise<StorageLease> {
    const pool = await ConnectionPool.open({ ...address, pool: 1, timeoutS: BEAT_TIMEOUT_S });
    const lease = new StorageLease(pool, history, options);
    try {
      await lease.members?.join();
      return lease;
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  /** Whether this server may answer: no other one can own the storage yet. */
  get isHeld(): boolean {
    return this.#isOwner && this.#history.rollback === undefined && this.#renewal.isFresh;
  }

  /** Whether it is this server's, even if it does not know at the moment whether it still is. */
  get isOwner(): boolean {
    return this.#isOwner;
  }

  /** The other server that was seen to own it; undefined if there is none. */
  get owner(): Owner | undefined {
    return this.#owner;
  }

  /** Whether another server stands by. */
  get isAwaited(): boolean {
    return this.#waiting > 0;
  }

  /** Whether commits wait for a second machine. Undefined if the database server does not say, and before this server is the owner. */
  get hasSynchronousReplica(): boolean | undefined {
    return this.#hasSynchronousReplica;
  }

  /** Takes the storage if no other server owns it. Returns whether it is this server's now. */
  async tryTake(): Promise<boolean> {
    await this.members?.join();
    const patience = this.#pool.patience('taking the storage');
    for (;;) {
      try {
        return (await this.#look(undefined)).isTaken;
      } catch (error) {
        if (failureOf(error) === 'final') throw error;
        await patience.wait(error);
      }
    }
  }

  /**
   * Stands by until the storage is this server's. Fails with `storage_closed` once `release` was called, and with `storage_rolled_back` if the database
   * has gone back to a state before its present owner.
   */
  async take(): Promise<void> {
    const standing = this.members === undefined ? new StandBy(this.#leaseMs) : undefined;
    let isUnreached = false;
    for (;;) {
      if (this.#isClosed) throw storageClosed('The storage');
      this.#history.mustBeWhole();
      try {
        if (await (standing === undefined ? this.#takeAsMember() : this.#takeOnceFree(standing))) return;
        isUnreached = false;
        // A member has waited for its look.
        if (standing === undefined) continue;
      } catch (error) {
        standing?.forget();
        if (!isUnreached && this.#history.rollback === undefined && !this.#isClosed) this.#options.onUnreached?.(error);
        isUnreached = true;
      }
      await this.#pause.begin(lookEveryMs(this.#leaseMs), this.#isClosed);
    }
  }

  /** Sets the address that is reported to the other servers, now and whenever this one takes the storage. */
  async announce(address: string): Promise<void> {
    this.#address = address;
    if (this.members !== undefined) return this.members.announce(address);
    await this.#pool.repeat('announcing an address', (connection) => this.#rows.announce(connection, address));
  }

  /** For an owner that can't open the storage: another server may take it, or this one later. */
  async giveUp(): Promise<void> {
    this.#isOwner = false;
    this.#pause.end();
    const left = this.members?.leave();
    await this.#beating;
    if (left !== undefined) return left;
    // If the database server can't be reached, the lease ends by itself.
    await this.#pool.use((connection) => this.#rows.leave(connection)).catch(() => undefined);
  }

  /** Lets the next server take the storage at once. This one is not to be used any more. */
  async release(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.giveUp();
    await this.members?.close();
    await this.#pool.close();
  }

  /** Renews the row of a server that stands by when that is due, and takes the storage if it is free. */
  async #takeOnceFree(standing: StandBy): Promise<boolean> {
    if (standing.isBeatDue()) await this.#pool.use((connection) => this.#rows.standBy(connection));
    const { isTaken, seen } = await this.#look(standing.watched);
    standing.note(seen);
    return isTaken;
  }

  async #takeAsMember(): Promise<boolean> {
    await this.members?.join();
    const seen = await this.members?.nextLook();
    this.#owner = seen?.owner;
    if (seen === undefined || this.#isClosed || !(seen.owner === undefined || seen.isDead)) return false;
    return this.#takeNow(seen.owner);
  }

  /** Takes the storage if it is free. Otherwise returns its owner. */
  async #look(
    watched: Watched | undefined,
  ): Promise<{ readonly isTaken: boolean; readonly seen?: Watched | undefined }> {
    const isLongWatched = watched !== undefined && performance.now() - watched.since >= this.#leaseMs;
    const { server, standing } = await this.#pool.use(async (connection) => ({
      server: connection.server,
      standing: await this.#rows.look(connection),
    }));
    this.#history.noteTerm(standing.term);
    const owner = standing.owner?.id === this.#self.id ? undefined : standing.owner;
    this.#owner = owner;
    const seen = owner && { owner, server, since: performance.now() };
    const isDead = isLongWatched && seen !== undefined && isSame(seen, watched);
    if (this.#isClosed || !(owner === undefined || owner.isOver || isDead)) return { isTaken: false, seen };
    return { isTaken: await this.#takeNow(isDead ? owner : undefined), seen };
  }

  async #takeNow(dead: Owner | undefined): Promise<boolean> {
    const before = times();
    const term = await this.#pool.use((connection) => this.#rows.take(connection, dead));
    if (term === undefined || this.#isClosed) return false;
    this.#history.noteTerm(term);
    this.#owner = undefined;
    this.#renewal.note(before);
    this.#isOwner = true;
    // The row of a member has the address already.
    if (this.members !== undefined) void this.members.lookNow();
    else if (this.#address !== undefined) void this.announce(this.#address).catch(() => undefined);
    await this.#renew();
    this.#beating = this.#beat();
    return this.#isOwner;
  }

  async #beat(): Promise<void> {
    while (this.#isOwner) {
      await this.#pause.begin(this.#leaseMs / BEATS, this.#isClosed);
      if (this.#isOwner) await this.#renew();
    }
  }

  /** A failure is left to the next beat. */
  async #renew(): Promise<void> {
    const before = times();
    try {
      const beat = await this.#pool.use((connection) => this.#rows.beat(connection));
      if (beat !== undefined) {
        this.#renewal.note(before);
        this.#waiting = beat.waiting;
        this.#hasSynchronousReplica = beat.hasSynchronousReplica;
        return;
      }
      const { term } = await this.#pool.use((connection) => this.#rows.look(connection));
      this.#history.noteTerm(term);
      this.#lose('another server has taken it');
    } catch (error) {
      if (isDatabaseError(error, 'storage_rolled_back')) this.#lose('its database has gone back to an earlier state');
      else if (this.#renewal.ageMs > this.#leaseMs) this.#lose('the database server was not reached in time');
    }
  }

  #lose(why: string): void {
    if (!this.#isOwner) return;
    this.#isOwner = false;
    // Its row must not go on as the owner's.
    this.members?.joinAnew();
    this.#options.onLost?.(why);
  }
}

/** An owner that did not renew its lease since. */
interface Watched {
  readonly owner: Owner;
  /** The database server that said so (`Connection.server`): another one may lack later beats. */
  readonly server: string;
  /** When it was first seen like this. */
  readonly since: number;
}

/** What a server that stands by remembers between two looks. */
class StandBy {
  readonly #leaseMs: number;
  #beatAt = Number.NEGATIVE_INFINITY;
  #watched: Watched | undefined;

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  get watched(): Watched | undefined {
    return this.#watched;
  }

  /** Returns true six times per lease. */
  isBeatDue(): boolean {
    if (performance.now() - this.#beatAt <= this.#leaseMs / BEATS) return false;
    this.#beatAt = performance.now();
    return true;
  }

  note(seen: Watched | undefined): void {
    if (seen === undefined || this.#watched === undefined || !isSame(seen, this.#watched)) this.#watched = seen;
  }

  /** What was watched need not be so any more. */
  forget(): void {
    this.#watched = undefined;
  }
}

function isSame(left: Watched, right: Watched): boolean {
  return left.owner.id === right.owner.id && left.owner.beats === right.owner.beats && left.server === right.server;
}
