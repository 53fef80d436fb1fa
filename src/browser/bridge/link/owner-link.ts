/**
 * Carries a request to the owner of the storage, in whichever tab that is, and survives the loss of owners.
 * Guarantees that every request settles: with the owner's response, with 503 and a reason, or by its signal.
 *
 * A request is in one of these states; the place where it is kept shows which one:
 *
 * | state | kept in | what ends it |
 * |---|---|---|
 * | waiting for an owner | `#waiting` | an owner is found or announces itself: sent. 15 s pass: settled with 503 |
 * | sent | `requests` of a connection | the owner answers: settled. It refuses the request, never received it, or is lost and the request can be repeated: waiting or sent again. It is lost and the request can't be repeated: in doubt |
 * | in doubt | `requests` of a lost connection | a response that was on its way arrives: settled. The connection is closed 100 ms later: settled with 503, since its outcome is unknown |
 * | settled | nowhere | |
 *
 * In every state the request's signal settles it, and closing the link settles it with 503.
 *
 * `known-owners.ts` tracks from messages and locks where an owner is and whether it lives, and looks for one if none is known. While
 * anything is in progress one timer counts the waiting time and asks silent owners for signs of life; an idle link does nothing.
 */

import type { ByteStream, PlainRequest, PlainResponse, RequestBody } from '../../../base/shared/message.ts';
import { isReadOnlyRequest } from '../../../http/request/read-only-requests.ts';
import type { Instance, LinkOptions, OwnerLink } from '../contract.ts';
import { channelName, onPort } from '../instance.ts';
import { ChannelPipes } from '../stream-transports.ts';
import { type FromOwner, type PortOffer, PROTOCOL, type ToAll } from '../wire.ts';
import { asFromOwner, asToAll, isStream, isWireStream, responseFromWire, withoutSmallStream } from '../wire-codec.ts';
import { KnownOwners, OwnerSearch } from './known-owners.ts';
import type { OwnerConnection } from './owner-connection.ts';
import { PendingRequest } from './pending-request.ts';

const TICK_MS = 500;
/** How many ticks a request waits for an owner: 15 s. */
const MAX_TICKS = 30;

const LOST = 'The tab that owned the database was closed or stopped answering';
const UNKNOWN_OUTCOME = `${LOST} while it had this request: it may have been carried out or not; read before you write again`;
const LOST_READ = `${LOST} while it had this request; send it again`;

export interface CreateLinkOptions extends LinkOptions {
  readonly locks: LockManager;
  /** Names the link's own channel. Default: a random UUID. */
  readonly id?: string | undefined;
}

export function createLink(options: CreateLinkOptions): OwnerLink {
  return new Link(options);
}

class Link implements OwnerLink {
  readonly #options: CreateLinkOptions;
  readonly #instance: Instance;
  readonly #id: string;
  /** The link's own channel, on which owners answer. */
  readonly #inbox: BroadcastChannel;
  /** The channel of the instance, on which owners announce themselves. */
  readonly #all: BroadcastChannel;
  readonly #pipes: ChannelPipes;
  readonly #owners: KnownOwners;
  readonly #search: OwnerSearch;
  readonly #waiting = new Set<PendingRequest>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #lastId = 0;
  #isOutdated = false;
  #isClosed = false;

  constructor(options: CreateLinkOptions) {
    const { instance, locks, provideOwner, id = crypto.randomUUID() } = options;
    this.#options = options;
    this.#instance = instance;
    this.#id = id;
    this.#inbox = new BroadcastChannel(channelName(instance, id));
    this.#inbox.onmessage = ({ data }: MessageEvent<unknown>) => {
      const message = asFromOwner(data);
      if (message !== undefined) this.#receive(message.from, message);
    };
    this.#all = new BroadcastChannel(channelName(instance));
    this.#all.onmessage = ({ data }: MessageEvent<unknown>) => this.#receiveAnnouncement(asToAll(data));
    this.#pipes = new ChannelPipes((owner, ...step) => this.#owners.get(owner)?.postStep(...step));
    this.#owners = new KnownOwners({
      instance,
      locks,
      linkId: id,
      openBodies: (key) => this.#pipes.openBodies(key),
      onLost: (owner) => this.#repeatOrDoubt(owner),
      onClosed: (owner) => this.#giveUpAll(owner),
      onSilent: (owner) => this.#announceSuspicion(owner),
    });
    this.#search = new OwnerSearch({
      instance,
      locks,
      provideOwner,
      onFound: (owner) => {
        this.#owners.found(owner);
        this.#sendWaiting();
      },
      isOver: () => this.#isClosed || this.#owners.current !== undefined,
    });
  }

  handle(request: PlainRequest): Promise<PlainResponse> {
    const { body } = request;
    return isStream(body) ? this.#beginWithStream(request, body) : this.#begin(request, body);
  }

  usePort({ owner, peer }: PortOffer, port: MessagePort): void {
    if (this.#isClosed || peer !== this.#id || !this.#owners.wantsPort(owner)) {
      port.close();
      return;
    }
    port.onmessage = ({ data }: MessageEvent<unknown>) => {
      const message = asFromOwner(data);
      if (message !== undefined) this.#receive(onPort(owner), message);
    };
    this.#owners.usePort(owner, port);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const reason = 'The service was closed in this page';
    for (const pending of this.#waiting) pending.giveUp(reason);
    this.#waiting.clear();
    for (const owner of this.#owners.all()) {
      for (const pending of owner.requests.values()) {
        owner.post({ kind: 'abort', id: pending.id });
        pending.giveUp(reason);
      }
    }
    this.#pipes.endAll(reason);
    this.#owners.end();
    clearInterval(this.#timer);
    this.#inbox.close();
    this.#all.close();
  }

  // ——— the connection to an owner ———

  async #beginWithStream(request: PlainRequest, stream: ByteStream): Promise<PlainResponse> {
    request.signal?.throwIfAborted();
    return this.#begin(request, await withoutSmallStream(stream));
  }

  #begin(request: PlainRequest, body: RequestBody): Promise<PlainResponse> {
    return new Promise((resolve, reject) => {
      request.signal?.throwIfAborted();
      const isReadOnly = isReadOnlyRequest(request, this.#instance.base);
      const onAbort = (aborted: PendingRequest): void => this.#abort(aborted);
      this.#sendOrWait(new PendingRequest({ request, body, isReadOnly, resolve, reject, onAbort }));
    });
  }

  #sendOrWait(pending: PendingRequest): void {
    if (this.#isClosed) {
      pending.giveUp('The service is closed in this page');
      return;
    }
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
    if (this.#owners.current === undefined) this.#wait(pending);
    else this.#send(pending, this.#owners.current);
  }

  #wait(pending: PendingRequest): void {
    this.#waiting.add(pending);
    void this.#search.run();
  }

  #send(pending: PendingRequest, owner: OwnerConnection): void {
    // From now on its silence counts.
    if (!this.#owners.isBusy(owner)) owner.heard();
    pending.id = ++this.#lastId;
    owner.requests.set(pending.id, pending);
    try {
      const request = pending.toWire(this.#pipes.transportFor(owner.key));
      const { carrier } = this.#options;
      owner.post({ kind: 'request', id: pending.id, request, carrier, ...owner.takeReceived() });
    } catch (error) {
      owner.requests.delete(pending.id);
      pending.reject(error);
    }
  }

  #sendWaiting(): void {
    const owner = this.#owners.current;
    if (owner === undefined) return;
    this.#search.forgetFailure();
    for (const pending of this.#waiting) {
      this.#waiting.delete(pending);
      this.#send(pending, owner);
    }
  }

  /** For a request that an owner no longer has, or will not carry out. */
  #sendAgain(pending: PendingRequest): void {
    pending.withdraw();
    this.#sendOrWait(pending);
  }

  /** For a request that an owner has not begun: only its body may be gone already. */
  #sendAgainIfWhole(pending: PendingRequest): void {
    if (pending.isWhole) this.#sendAgain(pending);
    else pending.giveUp(UNKNOWN_OUTCOME);
  }

  #abort(pending: PendingRequest): void {
    this.#waiting.delete(pending);
    for (const owner of this.#owners.all()) {
      if (owner.requests.delete(pending.id)) owner.post({ kind: 'abort', id: pending.id });
    }
    pending.reject(pending.request.signal?.reason);
  }

  // ——— messages of owners ———

  #receiveAnnouncement(message: ToAll | undefined): void {
    if (message?.kind !== 'owner' || this.#isClosed) return;
    this.#notice(message.protocol);
    this.#owners.announced(message.from);
    this.#sendWaiting();
  }

  #receive(key: string, message: FromOwner): void {
    const owner = this.#owners.get(key);
    if (owner === undefined) return;
    owner.heard();
    if (message.kind === 'refused') this.#onRefused(owner, message);
    else if (message.protocol !== PROTOCOL) return;
    else if (message.kind === 'answer') this.#onAnswer(owner, message);
    else if (message.kind === 'body') this.#pipes.deliver(key, message.stream, message.step);
    else if (message.kind === 'closed') this.#onPortClosed(owner);
    else if (message.unknown !== undefined) this.#onUnknown(owner, message.unknown);
  }

  #onAnswer(owner: OwnerConnection, { id, response }: FromOwner & { readonly kind: 'answer' }): void {
    const pending = owner.requests.get(id);
    owner.requests.delete(id);
    const transport = this.#pipes.transportFor(owner.key);
    if (pending !== undefined) {
      pending.resolve(responseFromWire(response, transport));
      if (!pending.isReadOnly && this.#options.carrier === 'service-worker') owner.noteReceived(id);
    }
    // The request was aborted meanwhile, so the body will not be read.
    else if (isWireStream(response.body)) void transport.open(response.body.stream).cancel('the request was aborted');
  }

  #onRefused(owner: OwnerConnection, { id, why, protocol }: FromOwner & { readonly kind: 'refused' }): void {
    const pending = owner.requests.get(id);
    if (pending === undefined) return;
    owner.requests.delete(id);
    if (why === 'protocol') {
      this.#notice(protocol);
      pending.giveUp(otherVersion(protocol));
    } else {
      this.#owners.refused(owner);
      this.#sendAgainIfWhole(pending);
    }
  }

  /** The protocol of an owner. */
  #notice(protocol: number): void {
    if (this.#isOutdated || protocol <= PROTOCOL) return;
    this.#isOutdated = true;
    this.#options.onOutdated?.();
  }

  /** A message that is posted before the browser knows of the owner's channel is lost. A request that never arrived was not begun. */
  #onUnknown(owner: OwnerConnection, ids: readonly number[]): void {
    for (const id of ids) {
      const pending = owner.requests.get(id);
      if (pending === undefined) continue;
      owner.requests.delete(id);
      this.#sendAgain(pending);
    }
  }

  #onPortClosed(port: OwnerConnection): void {
    this.#owners.leavePort(port);
    const unanswered = [...port.requests.values()];
    port.requests.clear();
    for (const pending of unanswered) this.#sendAgainIfWhole(pending);
    this.#owners.close(port);
  }

  // ——— the loss of owners ———

  /** Sends again what can be repeated. The rest is in doubt until no message of the owner can arrive any more. */
  #repeatOrDoubt(owner: OwnerConnection): void {
    for (const pending of owner.requests.values()) {
      if (!pending.canRepeat) continue;
      owner.requests.delete(pending.id);
      this.#sendAgain(pending);
    }
  }

  #giveUpAll(owner: OwnerConnection): void {
    for (const pending of owner.requests.values()) pending.giveUp(pending.isReadOnly ? LOST_READ : UNKNOWN_OUTCOME);
    owner.requests.clear();
    this.#pipes.endPeer(owner.key, LOST);
  }

  #announceSuspicion(owner: string): void {
    const message: ToAll = { protocol: PROTOCOL, from: this.#id, kind: 'suspect', owner };
    this.#all.postMessage(message);
  }

  // ——— time ———

  #tick(): void {
    this.#owners.tick();
    for (const owner of this.#owners.all()) owner.confirm();
    for (const pending of this.#waiting) this.#countTick(pending);
    if (this.#waiting.size > 0) void this.#search.run();
    else if (!this.#owners.isAnyBusy) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #countTick(pending: PendingRequest): void {
    if (++pending.ticks < MAX_TICKS) return;
    this.#waiting.delete(pending);
    const seconds = (MAX_TICKS * TICK_MS) / 1000;
    const { failure } = this.#search;
    const why = failure === undefined ? '' : ` (${failure})`;
    pending.giveUp(`No tab offered the database within ${seconds} s${why}; try again`);
  }
}

function otherVersion(protocol: number): string {
  return protocol > PROTOCOL
    ? 'Another tab runs a newer version of this app and owns the database: reload this tab'
    : 'Another tab runs an older version of this app and owns the database: reload or close that tab';
}
