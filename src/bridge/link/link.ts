/**
 * The way of a request from whoever doesn't own the storage to whoever does, in whichever tab that is, and over the loss of owners.
 * Guarantees that every request settles: with the owner's answer, with 503 and a reason, or by its signal.
 *
 * Knows the owner by its locks and its announcements, and its death by its alive lock. While anything is under way one timer asks
 * an owner that is silent for signs of life; an idle link does nothing.
 *
 * An owner may offer a port. It is a connection of its own beside that of the owner's channel: what began there ends there.
 */
import type { ByteStream, PlainRequest, PlainResponse, RequestBody } from '../../shared/message.ts';
import { ChannelPipes } from '../bodies/channel-pipe.ts';
import type { Instance, LinkOptions, OwnerLink } from '../contract.ts';
import { aliveLock, channelName, isOwnershipWanted, onPort, ownerOf } from '../instance.ts';
import type { PortOffer } from '../wire/control.ts';
import { type FromOwner, PROTOCOL, type ToAll } from '../wire/wire.ts';
import { isStream, isWireStream, responseFromWire, withoutSmallStream } from '../wire/wire-codec.ts';
import { asFromOwner, asToAll } from '../wire/wire-decoding.ts';
import { type ConnectionOptions, OwnerConnection } from './owner-connection.ts';
import { PendingRequest } from './pending-request.ts';
import { isRepeatable } from './repeatable.ts';

const TICK_MS = 500;
/** How long a request waits for an owner: 15 s. */
const MOST_TICKS = 30;
/**
 * How often the owner is heard on its channel, tick after tick, before a port that stays silent is given up. An owner that was
 * busy answers on both within one.
 */
const MOST_DOUBTS = 3;

/**
 * Locks and messages travel by different ways: an owner that let go of its locks in order may have said things that are yet to arrive.
 */
const LAST_WORDS_MS = 100;

const LOST = 'The tab that kept the database was closed or stopped answering';
const UNKNOWN_OUTCOME = `${LOST} while it had this request: it may have been carried out or not; read before you write again`;
const LOST_READ = `${LOST} while it had this request; send it again`;

export interface CreateLinkOptions extends LinkOptions {
  readonly locks: LockManager;
  /** Names the link's own channel. A random uuid where it is not given. */
  readonly id?: string | undefined;
}

export function createLink(options: CreateLinkOptions): OwnerLink {
  return new Link(options);
}

class Link implements OwnerLink {
  readonly #options: CreateLinkOptions;
  readonly #instance: Instance;
  readonly #id: string;
  /** The link's own, on which owners answer. */
  readonly #inbox: BroadcastChannel;
  readonly #all: BroadcastChannel;
  readonly #pipes: ChannelPipes;
  /** Those that have requests or bodies of ours, and the current one; by their keys. */
  readonly #owners = new Map<string, OwnerConnection>();
  readonly #waiting = new Set<PendingRequest>();
  #current: OwnerConnection | undefined;
  /** The owner that said last that it is leaving: its locks are held for a while yet. */
  #left: string | undefined;
  /** Why there is no owner, where that is known. */
  #trouble: string | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #lastId = 0;
  #isFinding = false;
  #isClosed = false;

  constructor(options: CreateLinkOptions) {
    this.#options = options;
    this.#instance = options.instance;
    this.#id = options.id ?? crypto.randomUUID();
    this.#inbox = new BroadcastChannel(channelName(this.#instance, this.#id));
    this.#inbox.onmessage = ({ data }: MessageEvent<unknown>) => {
      const message = asFromOwner(data);
      if (message !== undefined) this.#receive(message.from, message);
    };
    this.#all = new BroadcastChannel(channelName(this.#instance));
    this.#all.onmessage = ({ data }: MessageEvent<unknown>) => {
      const message = asToAll(data);
      if (message?.kind === 'owner') this.#adopt(message.from);
    };
    this.#pipes = new ChannelPipes((owner, stream, step) =>
      this.#owners.get(owner)?.post({ kind: 'body', stream, step }),
    );
  }

  handle(request: PlainRequest): Promise<PlainResponse> {
    const { body } = request;
    return isStream(body) ? this.#askWith(request, body) : this.#ask(request, body);
  }

  usePort({ owner, peer }: PortOffer, port: MessagePort): void {
    const current = this.#current;
    if (this.#isClosed || peer !== this.#id || current?.id !== owner || current.isPort) {
      port.close();
      return;
    }
    const key = onPort(owner);
    port.onmessage = ({ data }: MessageEvent<unknown>) => {
      const message = asFromOwner(data);
      if (message !== undefined) this.#receive(key, message);
    };
    this.#current = this.#open({ owner, key, way: port, from: onPort(this.#id) });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const reason = 'The service was closed here';
    for (const pending of this.#waiting) pending.giveUp(reason);
    for (const owner of this.#owners.values()) {
      for (const pending of owner.requests.values()) {
        owner.post({ kind: 'abort', id: pending.id });
        pending.giveUp(reason);
      }
    }
    this.#waiting.clear();
    this.#pipes.endAll(reason);
    for (const owner of this.#owners.values()) owner.end();
    this.#owners.clear();
    clearInterval(this.#timer);
    this.#inbox.close();
    this.#all.close();
  }

  async #askWith(request: PlainRequest, stream: ByteStream): Promise<PlainResponse> {
    request.signal?.throwIfAborted();
    return this.#ask(request, await withoutSmallStream(stream));
  }

  #ask(request: PlainRequest, body: RequestBody): Promise<PlainResponse> {
    return new Promise((resolve, reject) => {
      request.signal?.throwIfAborted();
      const isRead = isRepeatable(request, this.#instance);
      const onAbort = (aborted: PendingRequest): void => this.#abort(aborted);
      this.#route(new PendingRequest({ request, body, isRead, resolve, reject, onAbort }));
    });
  }

  #route(pending: PendingRequest): void {
    if (this.#isClosed) {
      pending.giveUp('The service is closed here');
      return;
    }
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
    if (this.#current !== undefined) {
      this.#send(pending, this.#current);
    } else {
      this.#waiting.add(pending);
      void this.#find();
    }
  }

  #send(pending: PendingRequest, owner: OwnerConnection): void {
    if (!this.#isBusy(owner)) owner.heard();
    pending.id = ++this.#lastId;
    owner.requests.set(pending.id, pending);
    try {
      const request = pending.toWire(this.#pipes.carrierFor(owner.key));
      owner.post({ kind: 'request', id: pending.id, request, carrier: this.#options.carrier });
    } catch (error) {
      owner.requests.delete(pending.id);
      pending.reject(error);
    }
  }

  #abort(pending: PendingRequest): void {
    this.#waiting.delete(pending);
    for (const owner of this.#owners.values()) {
      if (owner.requests.delete(pending.id)) owner.post({ kind: 'abort', id: pending.id });
    }
    pending.reject(pending.request.signal?.reason);
  }

  // ——— what owners say ———

  #receive(key: string, message: FromOwner): void {
    const owner = this.#owners.get(key);
    if (owner === undefined) return;
    owner.heard();
    if (message.kind === 'refused') this.#takeBack(owner, message);
    else if (message.protocol !== PROTOCOL) return;
    else if (message.kind === 'answer') this.#settle(owner, message);
    else if (message.kind === 'body') this.#pipes.deliver(key, message.stream, message.step);
    else if (message.kind === 'closed') this.#leavePort(owner);
    else if (message.unknown !== undefined) this.#repeatLost(owner, message.unknown);
  }

  /** A message can be posted before the browser knows of the owner's channel. What never arrived was not begun. */
  #repeatLost(owner: OwnerConnection, ids: readonly number[]): void {
    for (const id of ids) {
      const pending = owner.requests.get(id);
      if (pending === undefined) continue;
      owner.requests.delete(id);
      this.#sendAgain(pending);
    }
  }

  #settle(owner: OwnerConnection, { id, response }: FromOwner & { readonly kind: 'answer' }): void {
    const pending = owner.requests.get(id);
    owner.requests.delete(id);
    const carrier = this.#pipes.carrierFor(owner.key);
    if (pending !== undefined) pending.resolve(responseFromWire(response, carrier));
    // Aborted meanwhile: nobody will read the body.
    else if (isWireStream(response.body)) void carrier.open(response.body.stream).cancel('the request was aborted');
  }

  #takeBack(owner: OwnerConnection, { id, why, protocol }: FromOwner & { readonly kind: 'refused' }): void {
    const pending = owner.requests.get(id);
    if (pending === undefined) return;
    owner.requests.delete(id);
    if (why === 'protocol') {
      pending.giveUp(otherVersion(protocol));
    } else {
      this.#left = owner.id;
      owner.isReplaced = true;
      if (this.#current?.id === owner.id) this.#current = undefined;
      this.#sendWhole(pending);
    }
  }

  #leavePort(port: OwnerConnection): void {
    if (this.#current === port) this.#current = this.#channelOf(port.id);
    const unanswered = [...port.requests.values()];
    port.requests.clear();
    for (const pending of unanswered) this.#sendWhole(pending);
    this.#forget(port);
  }

  #sendWhole(pending: PendingRequest): void {
    if (pending.isWhole) this.#sendAgain(pending);
    else pending.giveUp(UNKNOWN_OUTCOME);
  }

  // ——— owners come and go ———

  async #find(): Promise<void> {
    if (this.#isFinding) return;
    this.#isFinding = true;
    try {
      if (await this.#isNobodyThere()) {
        await this.#options.whenNobody?.();
        this.#trouble = undefined;
        await this.#isNobodyThere();
      }
    } catch (error) {
      this.#trouble = error instanceof Error ? error.message : String(error);
    } finally {
      this.#isFinding = false;
    }
  }

  /** Adopts the owner whom the locks show; true where there is none, and none on its way. */
  async #isNobodyThere(): Promise<boolean> {
    const snapshot = await this.#options.locks.query();
    if (this.#current !== undefined || this.#isClosed) return false;
    const owner = ownerOf(snapshot, this.#instance);
    if (owner !== undefined && owner !== this.#left) this.#adopt(owner);
    return !isOwnershipWanted(snapshot, this.#instance);
  }

  #adopt(id: string): void {
    const known = this.#owners.get(id);
    if (this.#isClosed || this.#current?.id === id || known?.isLost) return;
    this.#current = this.#channelOf(id);
    this.#current.isReplaced = false;
    this.#trouble = undefined;
    for (const former of this.#owners.values()) {
      if (former.id !== id && !former.isReplaced) this.#replace(former);
    }
    for (const pending of this.#waiting) {
      this.#waiting.delete(pending);
      this.#send(pending, this.#current);
    }
  }

  #channelOf(id: string): OwnerConnection {
    const known = this.#owners.get(id);
    if (known !== undefined) return known;
    const way = new BroadcastChannel(channelName(this.#instance, id));
    return this.#open({ owner: id, key: id, way, from: this.#id });
  }

  #open(options: ConnectionOptions): OwnerConnection {
    const owner = new OwnerConnection(options);
    this.#owners.set(owner.key, owner);
    owner.watch(this.#options.locks, aliveLock(this.#instance, owner.id), () => this.#loseAll(owner.id));
    return owner;
  }

  /** One that leaves in order may still be answering; one that was suspected answers no more. */
  #replace(former: OwnerConnection): void {
    const wasSilent = former.isSilent;
    former.isReplaced = true;
    if (wasSilent) this.#lose(former);
    else this.#dropIfIdle(former);
  }

  #loseAll(id: string): void {
    if (this.#current?.id === id) this.#current = undefined;
    for (const owner of this.#owners.values()) if (owner.id === id) this.#lose(owner);
  }

  /** What can be repeated goes on at once; the rest when nothing can come any more that the owner still said. */
  #lose(owner: OwnerConnection): void {
    if (owner.isLost) return;
    owner.isLost = true;
    if (this.#current === owner) this.#current = undefined;
    for (const pending of owner.requests.values()) {
      if (!pending.canRepeat) continue;
      owner.requests.delete(pending.id);
      this.#sendAgain(pending);
    }
    if (this.#isBusy(owner)) setTimeout(() => this.#forget(owner), LAST_WORDS_MS);
    else this.#forget(owner);
  }

  #forget(owner: OwnerConnection): void {
    if (this.#owners.get(owner.key) !== owner) return;
    this.#owners.delete(owner.key);
    owner.end();
    for (const pending of owner.requests.values()) pending.giveUp(pending.isRead ? LOST_READ : UNKNOWN_OUTCOME);
    owner.requests.clear();
    this.#pipes.endPeer(owner.key, LOST);
  }

  #sendAgain(pending: PendingRequest): void {
    pending.withdraw();
    this.#route(pending);
  }

  #dropIfIdle(owner: OwnerConnection): void {
    if (owner !== this.#current && !this.#isBusy(owner)) this.#forget(owner);
  }

  // ——— time ———

  #tick(): void {
    for (const owner of this.#owners.values()) {
      if (this.#isBusy(owner)) this.#check(owner);
      else this.#dropIfIdle(owner);
    }
    for (const pending of this.#waiting) this.#countWaiting(pending);
    if (this.#waiting.size > 0) void this.#find();
    else if (![...this.#owners.values()].some((owner) => this.#isBusy(owner))) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #check(owner: OwnerConnection): void {
    owner.tick();
    if (!owner.isSilent) return;
    if (owner.isReplaced) this.#lose(owner);
    else
      this.#all.postMessage({ protocol: PROTOCOL, from: this.#id, kind: 'suspect', owner: owner.id } satisfies ToAll);
    if (owner.isPort) this.#doubt(owner);
  }

  /** Either the owner is silent or its port is broken. That one is, when the owner goes on answering on its channel. */
  #doubt(port: OwnerConnection): void {
    if (port.isLost) return;
    const channel = this.#channelOf(port.id);
    if (this.#current === port) this.#current = channel;
    if (channel.hasSpoken && ++port.doubts === MOST_DOUBTS) this.#lose(port);
    else channel.probe();
  }

  #countWaiting(pending: PendingRequest): void {
    if (++pending.ticks < MOST_TICKS) return;
    this.#waiting.delete(pending);
    const seconds = (MOST_TICKS * TICK_MS) / 1000;
    const why = this.#trouble === undefined ? '' : ` (${this.#trouble})`;
    pending.giveUp(`No tab offered the database within ${seconds} s${why}; try again`);
  }

  #isBusy(owner: OwnerConnection): boolean {
    return owner.requests.size > 0 || this.#pipes.openBodies(owner.key) > 0;
  }
}

function otherVersion(protocol: number): string {
  return protocol > PROTOCOL
    ? 'Another tab runs a newer version of this app and keeps the database: reload this tab'
    : 'Another tab runs an older version of this app and keeps the database: reload or close that tab';
}
