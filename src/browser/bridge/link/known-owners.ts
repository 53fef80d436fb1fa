/**
 * The owners that a link knows, by its connections to them, which connection gets new requests, and the search for an owner. An owner has one connection over its
 * channel, and one over a port if it offered one: each is a connection of its own, so that what began on one ends on it.
 *
 * A connection is in one of these states:
 *
 * | state | what it means | ends when |
 * |---|---|---|
 * | current | gets new requests | another owner is announced, the owner refuses a request, or it is lost |
 * | other | gets no new requests, may still answer: it was replaced, or its owner's other connection is current | nothing is open on it, or it is lost |
 * | lost | its owner's lock is free, or it was replaced and is silent, or it is a port that broke | 100 ms later, when nothing more can arrive |
 */

import type { Instance } from '../contract.ts';
import { aliveLock, channelName, isOwnershipWanted, onPort, ownerOf } from '../instance.ts';
import { type ConnectionOptions, OwnerConnection } from './owner-connection.ts';

/**
 * How many ticks in a row the owner is heard on its channel before a port that stays silent is given up. An owner that was
 * merely busy answers on both within one tick.
 */
const MAX_ANSWERS_ELSEWHERE = 3;

/** Locks and messages travel by different routes: messages of an owner may arrive after its locks were released. */
const LAST_MESSAGES_MS = 100;

export interface KnownOwnersOptions {
  readonly instance: Instance;
  readonly locks: LockManager;
  /** Name of the link's own channel. */
  readonly linkId: string;
  /** How many bodies are open on the connection with that key. */
  openBodies(key: string): number;
  /** The connection is lost. Requests that can be repeated must be sent to another owner. */
  onLost(owner: OwnerConnection): void;
  /** The connection is closed. What it still holds must be given up. */
  onClosed(owner: OwnerConnection): void;
  /** The owner does not answer pings. */
  onSilent(ownerId: string): void;
}

export class KnownOwners {
  readonly #options: KnownOwnersOptions;
  readonly #connections = new Map<string, OwnerConnection>();
  #current: OwnerConnection | undefined;
  /** The owner that last said that it is leaving: it holds its locks for a while longer. */
  #leaving: string | undefined;

  constructor(options: KnownOwnersOptions) {
    this.#options = options;
  }

  /** The connection that gets new requests; undefined while no owner is known. */
  get current(): OwnerConnection | undefined {
    return this.#current;
  }

  get(key: string): OwnerConnection | undefined {
    return this.#connections.get(key);
  }

  all(): Iterable<OwnerConnection> {
    return this.#connections.values();
  }

  /** Whether the link expects a response or a part of a body from the owner. */
  isBusy(owner: OwnerConnection): boolean {
    return owner.requests.size > 0 || this.#options.openBodies(owner.key) > 0;
  }

  get isAnyBusy(): boolean {
    for (const owner of this.#connections.values()) if (this.isBusy(owner)) return true;
    return false;
  }

  /** An owner has announced itself. It becomes the current one, unless it is already or is known to be lost. */
  announced(id: string): void {
    if (this.#current?.id === id || this.#connections.get(id)?.isLost) return;
    this.#current = this.#channelOf(id);
    this.#current.isReplaced = false;
    for (const former of this.#connections.values()) {
      if (former.id !== id && !former.isReplaced) this.#replace(former);
    }
  }

  /** Like `announced`, for an owner that was found by its locks. */
  found(id: string): void {
    if (id !== this.#leaving) this.announced(id);
  }

  /** The owner refused a request because it is giving the storage up. */
  refused(owner: OwnerConnection): void {
    this.#leaving = owner.id;
    owner.isReplaced = true;
    if (this.#current?.id === owner.id) this.#current = undefined;
  }

  /** Whether a port of that owner is useful: it is the current one, and has none yet. */
  wantsPort(owner: string): boolean {
    return this.#current?.id === owner && !this.#current.isPort;
  }

  usePort(owner: string, way: MessagePort): void {
    this.#current = this.#open({ owner, key: onPort(owner), way, from: onPort(this.#options.linkId) });
  }

  /** The owner has closed the port, and can be reached on its channel. The connection over the port must still be closed. */
  leavePort(port: OwnerConnection): void {
    if (this.#current === port) this.#current = this.#channelOf(port.id);
  }

  close(owner: OwnerConnection): void {
    if (this.#connections.get(owner.key) !== owner) return;
    this.#connections.delete(owner.key);
    owner.end();
    this.#options.onClosed(owner);
  }

  /** To be called every half second while the link expects anything from any owner. */
  tick(): void {
    for (const owner of this.#connections.values()) {
      if (this.isBusy(owner)) this.#check(owner);
      else this.#closeIfIdle(owner);
    }
  }

  end(): void {
    for (const owner of this.#connections.values()) owner.end();
    this.#connections.clear();
    this.#current = undefined;
  }

  #channelOf(id: string): OwnerConnection {
    const known = this.#connections.get(id);
    if (known !== undefined) return known;
    const { instance, linkId } = this.#options;
    return this.#open({ owner: id, key: id, way: new BroadcastChannel(channelName(instance, id)), from: linkId });
  }

  #open(options: ConnectionOptions): OwnerConnection {
    const { locks, instance } = this.#options;
    const owner = new OwnerConnection(options);
    this.#connections.set(owner.key, owner);
    owner.watch(locks, aliveLock(instance, owner.id), () => this.#loseAll(owner.id));
    return owner;
  }

  /** An owner that leaves in order may still be answering; one that was silent answers nothing more. */
  #replace(former: OwnerConnection): void {
    const wasSilent = former.isSilent;
    former.isReplaced = true;
    if (wasSilent) this.#lose(former);
    else this.#closeIfIdle(former);
  }

  #check(owner: OwnerConnection): void {
    owner.tick();
    if (!owner.isSilent) return;
    if (owner.isReplaced) this.#lose(owner);
    else this.#options.onSilent(owner.id);
    if (owner.isPort) this.#compareWithChannel(owner);
  }

  /** Either the owner is silent or its port is broken: it is the port if the owner continues to answer on its channel. */
  #compareWithChannel(port: OwnerConnection): void {
    if (port.isLost) return;
    const channel = this.#channelOf(port.id);
    if (this.#current === port) this.#current = channel;
    if (channel.hasSpoken && ++port.answersElsewhere === MAX_ANSWERS_ELSEWHERE) this.#lose(port);
    else channel.probe();
  }

  #loseAll(id: string): void {
    if (this.#current?.id === id) this.#current = undefined;
    for (const owner of this.#connections.values()) if (owner.id === id) this.#lose(owner);
  }

  #lose(owner: OwnerConnection): void {
    if (owner.isLost) return;
    owner.isLost = true;
    if (this.#current === owner) this.#current = undefined;
    this.#options.onLost(owner);
    if (this.isBusy(owner)) setTimeout(() => this.close(owner), LAST_MESSAGES_MS);
    else this.close(owner);
  }

  #closeIfIdle(owner: OwnerConnection): void {
    if (owner !== this.#current && !this.isBusy(owner)) this.close(owner);
  }
}

export interface OwnerSearchOptions {
  readonly instance: Instance;
  readonly locks: LockManager;
  /** See `LinkOptions`. */
  readonly provideOwner?: (() => Promise<void>) | undefined;
  /** Called with the owner that the locks show. */
  onFound(ownerId: string): void;
  /** Whether an owner is known, or no longer needed. */
  isOver(): boolean;
}

/** Looks for the owner by the locks that it holds, and if no one owns the storage, lets its host provide an owner. */
export class OwnerSearch {
  readonly #options: OwnerSearchOptions;
  #isUnderWay = false;
  #failure: string | undefined;

  constructor(options: OwnerSearchOptions) {
    this.#options = options;
  }

  /** Why there is no owner, if that is known. */
  get failure(): string | undefined {
    return this.#failure;
  }

  forgetFailure(): void {
    this.#failure = undefined;
  }

  /** Looks once; does nothing if it is already looking. Never rejects. */
  async run(): Promise<void> {
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    try {
      if (await this.#isUnowned()) {
        await this.#options.provideOwner?.();
        this.#failure = undefined;
        await this.#isUnowned();
      }
    } catch (error) {
      this.#failure = error instanceof Error ? error.message : String(error);
    } finally {
      this.#isUnderWay = false;
    }
  }

  /** Reports the owner that the locks show. Returns true if there is none, and no one waits to become it. */
  async #isUnowned(): Promise<boolean> {
    const { instance, locks, onFound, isOver } = this.#options;
    const snapshot = await locks.query();
    if (isOver()) return false;
    const owner = ownerOf(snapshot, instance);
    if (owner !== undefined) onFound(owner);
    return !isOwnershipWanted(snapshot, instance);
  }
}
