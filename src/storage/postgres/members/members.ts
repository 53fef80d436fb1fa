import { storageClosed } from '../../storage-errors.ts';
import type { Connection, ConnectionPool } from '../connection-pool.ts';
import type { DurableHistory } from '../durable-history.ts';
import type { Owner, OwnServer } from '../server-rows.ts';
import { BEATS, LastRenewal, lookEveryMs, Pause, times } from './lease-times.ts';
import { MemberRows, type SeenServer, type Sight } from './member-rows.ts';
import { haveSameContent, isSameMembership, type Member, type Membership } from './membership.ts';
import { RowWatch } from './row-watch.ts';

/** How often a look is repeated at once because it found something to change. The next look goes on. */
const MAX_ATTEMPTS = 4;
const KEY_BYTES = 32;

export interface MembersOptions {
  /** One connection, so that statements are carried out in the order in which they are asked for. A transaction is one use of it. */
  readonly pool: ConnectionPool;
  readonly history: DurableHistory;
  /** Its id is replaced when this server joins again. */
  readonly self: OwnServer;
  /** This server's ownership of the storage. */
  readonly ownership: { readonly isOwner: boolean; readonly isHeld: boolean };
  /** Called when the row of this server was removed by others. */
  readonly onRemoved: () => void;
}

interface Waiting {
  resolve(seen: SeenOwner): void;
  reject(error: unknown): void;
}

/** What a look says about the owner of the storage. */
export interface SeenOwner {
  /** Undefined if there is none, or if it is this server. */
  readonly owner: Owner | undefined;
  /** Whether it did not renew its lease in time. */
  readonly isDead: boolean;
}

/**
 * The servers that own databases on one storage, and this server's place among them. Each has a row, which it renews six times per lease; all read the
 * rows a few times per second. A server that finds an expired lease removes the row with it.
 *
 * The membership has a version, which is raised in the same transaction as each change. A server of an earlier release does not raise it when it deletes
 * a row, and a replica that takes over may have an earlier version. So a server that sees other members under the version that it knows, or
 * an earlier version, raises it above those that it has seen. No server tells of two memberships with the same version and different members.
 *
 * As with the owner of the storage, this server counts from before it sent a renewal, and the others from after. It may answer for two thirds of
 * the lease, and they wait for all of it.
 */
export class Members {
  readonly #options: MembersOptions;
  readonly #self: OwnServer;
  readonly #rows: MemberRows;
  readonly #renewal: LastRenewal;
  readonly #watch: RowWatch<SeenServer>;
  readonly #listeners = new Set<(membership: Membership) => void>();
  #membership: Membership | undefined;
  /** The database server that it was read from. */
  #seenOn: string | undefined;
  #address: string | undefined;
  /** Whether this server is to have a row. */
  #isWanted = false;
  /** Whether it has one, as far as it knows. */
  #isJoined = false;
  #isCoordinator = false;
  /** The id of its row before, which may still be there. */
  #former: string | undefined;
  /** The highest version that this server has adopted, and the id of its row then. A look stores it if `adopt` could not. */
  #adopted = { id: '', version: 0 };
  /** A look that was not sent yet. */
  #unsent: Promise<Membership | undefined> | undefined;
  #waiting: Waiting[] = [];
  #looking: Promise<void> | undefined;
  #isClosed = false;
  readonly #pause = new Pause();

  constructor(options: MembersOptions) {
    this.#options = options;
    const { pool, self } = options;
    this.#self = self;
    this.#rows = new MemberRows(pool.address.schema, self);
    this.#renewal = new LastRenewal(self.leaseMs);
    this.#watch = new RowWatch(self.leaseMs);
  }

  /** What this server has seen last; undefined before it has joined. */
  get membership(): Membership | undefined {
    return this.#membership;
  }

  /**
   * Whether this server may answer as the owner of databases: no other one can have removed it. It may end at any time, also without a call of a
   * listener, so it is asked before each answer.
   */
  get isMember(): boolean {
    const { history, ownership } = this.#options;
    if (!this.#isIncluded || history.rollback !== undefined || !this.#renewal.isFresh) return false;
    return ownership.isOwner ? ownership.isHeld : !this.#isCoordinator;
  }

  /**
   * Calls `listener` after each change of the membership, and of what the members have adopted. Also when this server is no longer a member although it did
   * not leave, with the last membership: then `isMember` is false, and another call follows when it has joined again. That one has another `self`:
   * meanwhile others may have owned what this server had under the former one, even if it is this server's again. `listener` must not throw.
   * Returns a function that ends this.
   */
  onMembership(listener: (membership: Membership) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Adds the row of this server if it has none, and keeps it from then on. Rejects with `storage_blocked` if the database server was not reached. */
  async join(): Promise<void> {
    if (this.#isClosed) throw storageClosed('The storage');
    if (this.#isJoined) return;
    this.#isWanted = true;
    this.#looking ??= this.#lookOften();
    await this.#options.pool.repeat('joining the servers of the storage', (connection) => this.#joinBy(connection));
    await this.lookNow();
  }

  /**
   * Looks at once. Callers share a look that was not sent yet. Returns what it has seen; undefined if the database server was not reached, or if this server
   * is not among the members.
   */
  lookNow(): Promise<Membership | undefined> {
    this.#unsent ??= this.#look();
    return this.#unsent;
  }

  /** Waits for the next look, and says what it has seen of the owner of the storage. Rejects if the look fails, or if there will be none. */
  nextLook(): Promise<SeenOwner> {
    if (!this.#isWanted || this.#looking === undefined) return Promise.reject(storageClosed('The storage'));
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /**
   * Says to the others that this server has given up what is not its own by that version of the membership. May be called again; a lower version than before
   * changes nothing. Rejects with `storage_blocked` if the database server was not reached in time; then the others are told as soon as it is reached,
   * unless this server has another id by then.
   */
  async adopt(version: number): Promise<void> {
    if (!this.#isJoined) return;
    const { id } = this.#self;
    const before = this.#adopted.id === id ? this.#adopted.version : 0;
    this.#adopted = { id, version: Math.max(version, before) };
    await this.#options.pool.repeat('adopting a membership', (connection) => this.#rows.adopt(connection, id, version));
    await this.lookNow();
  }

  /**
   * Replaces the servers that were chosen by hand, by the names of the databases. Raises the version if that changes anything. Rejects with `not_owner`
   * if this server does not own the storage, with `storage_blocked` if the database server was not reached in time.
   */
  async setPins(pins: ReadonlyMap<string, string>): Promise<void> {
    await this.#options.pool.repeat('pinning databases', (connection) => this.#rows.setPins(connection, pins));
    await this.lookNow();
  }

  /**
   * The secret by which the members know each other: 64 hexadecimal digits, the same for all. Rejects with `storage_blocked` if the database server was
   * not reached in time.
   */
  forwardingKey(): Promise<string> {
    const proposed = Buffer.from(crypto.getRandomValues(new Uint8Array(KEY_BYTES))).toString('hex');
    const what = 'reading the key for forwarding';
    return this.#options.pool.repeat(what, (connection) => this.#rows.forwardingKey(connection, proposed));
  }

  /** Sets the address in the row of this server, now and whenever it joins. Undefined: the others can't reach it, or are not to any more. */
  async announce(address: string | undefined): Promise<void> {
    this.#address = address;
    if (!this.#isJoined) return;
    await this.#options.pool.repeat('announcing an address', (connection) => this.#rows.announce(connection, address));
    await this.lookNow();
  }

  /** Gives up the row of this server, and gets it another one with another id: the former one is no longer to be counted on. */
  joinAnew(): void {
    if (this.#dropOut()) this.#tell();
  }

  /** Removes the row of this server. If the database server can't be reached, the others remove it when its lease has ended. */
  async leave(): Promise<void> {
    this.#isWanted = false;
    this.#dropOut();
    this.#failWaiting(storageClosed('The storage'));
    const leave = (connection: Connection) => this.#rows.leave(connection, this.#former);
    await this.#options.pool.use(leave).catch(() => undefined);
  }

  /** Leaves for good. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#pause.end();
    if (this.#isWanted) await this.leave();
    await this.#looking;
  }

  /** Whether the membership that it has seen last counts with its row. */
  get #isIncluded(): boolean {
    return this.#isJoined && this.#membership?.self === this.#self.id;
  }

  /** What the connection does is in order, so no two of these join at the same time. */
  async #joinBy(connection: Connection): Promise<void> {
    if (this.#isJoined || !this.#isWanted) return;
    const { history } = this.#options;
    history.mustBeWhole();
    const before = times();
    await this.#rows.join(connection, this.#address, this.#former);
    // `leave` was called meanwhile, and deletes this row next.
    if (!this.#isWanted) return;
    this.#renewal.note(before);
    this.#former = undefined;
    this.#isCoordinator = false;
    this.#isJoined = true;
  }

  async #lookOften(): Promise<void> {
    const { history } = this.#options;
    while (!this.#isClosed && history.rollback === undefined) {
      await this.#pause.begin(lookEveryMs(this.#self.leaseMs));
      if (this.#isWanted && !this.#isClosed) await this.lookNow();
    }
    this.#looking = undefined;
    this.#failWaiting(history.rollback ?? storageClosed('The storage'));
    if (!this.#isClosed) this.#tell();
  }

  async #look(): Promise<Membership | undefined> {
    let isSent = false;
    try {
      await this.#options.pool.use(async (connection) => {
        isSent = true;
        this.#unsent = undefined;
        for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) if (await this.#lookBy(connection)) return;
      });
      return this.#isIncluded ? this.#membership : undefined;
    } catch (error) {
      this.#watch.forget();
      this.#failWaiting(error);
      return undefined;
    } finally {
      if (!isSent) this.#unsent = undefined;
    }
  }

  /** Returns false if it is to look again. */
  async #lookBy(connection: Connection): Promise<boolean> {
    await this.#joinBy(connection);
    if (!this.#isJoined) return true;
    const { id, leaseMs } = this.#self;
    const before = times();
    const renew = this.#renewal.ageMs >= leaseMs / BEATS;
    const known = connection.server === this.#seenOn ? this.#membership?.version : undefined;
    const sight = await this.#rows.look(connection, { renew, known });
    this.#options.history.noteTerm(sight.term);
    // It has given up this row meanwhile.
    if (!this.#isJoined || this.#self.id !== id) return false;
    const own = sight.servers.find((server) => server.id === id);
    if (own === undefined || sight.isRenewed !== renew) {
      this.#dropOut();
      this.#options.onRemoved();
      this.#tell();
      return false;
    }
    if (renew) this.#renewal.note(before);
    this.#isCoordinator = own.isCoordinator;
    const others = sight.servers.filter((server) => server.id !== id);
    const dead = this.#watch.note(sight.server, others, before.steady);
    const isChanged =
      (await this.#remove(connection, dead)) ||
      (await this.#repair(connection, sight)) ||
      (await this.#adoptLate(connection, own));
    if (isChanged || this.#self.id !== id) return false;
    this.#note(sight);
    const seen = { owner: others.find(isOwner), isDead: dead.some(isOwner) };
    for (const { resolve } of this.#takeWaiting()) resolve(seen);
    return true;
  }

  /** Removes dead members. An owner of the storage is removed by the server that takes the storage, if this one does: so there is one change, not two. */
  async #remove(connection: Connection, dead: readonly SeenServer[]): Promise<boolean> {
    const removed = dead.filter((server) => server.takesPart && !(isOwner(server) && this.#waiting.length > 0));
    if (removed.length === 0) return false;
    await this.#rows.remove(connection, removed);
    return true;
  }

  /** Raises the version if it stands for another membership, too. */
  async #repair(connection: Connection, sight: Sight): Promise<boolean> {
    const known = this.#membership;
    if (known === undefined || sight.version > known.version) return false;
    if (sight.version === known.version && haveSameContent(this.#membershipOf(sight), known)) return false;
    await this.#rows.raise(connection, sight.version, known.version);
    return true;
  }

  /** Stores what `adopt` could not store in time. */
  async #adoptLate(connection: Connection, own: SeenServer): Promise<boolean> {
    const { id, version } = this.#adopted;
    if (own.id !== id || own.adopted >= version) return false;
    await this.#rows.adopt(connection, id, version);
    return true;
  }

  #note(sight: Sight): void {
    const before = this.#membership;
    const membership = this.#membershipOf(sight);
    this.#membership = membership;
    this.#seenOn = sight.server;
    if (before === undefined || !isSameMembership(before, membership)) this.#tell();
  }

  #membershipOf({ version, servers, pins }: Sight): Membership {
    const members = servers.filter(({ takesPart }) => takesPart).map(memberOf);
    return { version, self: this.#self.id, members, pins: pins ?? this.#membership?.pins ?? new Map() };
  }

  /** Returns whether this server was a member until now. */
  #dropOut(): boolean {
    if (!this.#isJoined) return false;
    this.#isJoined = false;
    this.#former = this.#self.id;
    this.#self.id = crypto.randomUUID();
    return true;
  }

  #tell(): void {
    const membership = this.#membership;
    if (membership !== undefined) for (const listener of [...this.#listeners]) listener(membership);
  }

  #takeWaiting(): readonly Waiting[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }

  #failWaiting(error: unknown): void {
    for (const { reject } of this.#takeWaiting()) reject(error);
  }
}

function isOwner({ isCoordinator }: SeenServer): boolean {
  return isCoordinator;
}

function memberOf({ id, described, machine, address, isCoordinator, adopted }: SeenServer): Member {
  return { id, described, machine, address, isCoordinator, adopted };
}
