/**
 * The server at the owner's end of the message channels: accepts requests from other tabs' workers and from the service worker, and answers them. Bodies that are streams
 * travel as steps on the channels of both sides. A service worker is offered a port, over which the same messages travel.
 */

import { type Clock, systemClock } from '../../../base/shared/clock.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { PlainRequest, PlainResponse } from '../../../base/shared/message.ts';
import { isReadOnlyRequest } from '../../../http/request/read-only-requests.ts';
import type { Instance } from '../contract.ts';
import { channelName, linkOf, onPort } from '../instance.ts';
import { serviceUnavailable } from '../service-unavailable.ts';
import { ChannelPipes } from '../stream-transports.ts';
import {
  type BodyStep,
  type FromOwner,
  type Payload,
  type PortOffer,
  PROTOCOL,
  type ToOwner,
  type WireResponse,
} from '../wire.ts';
import { asToOwner, isStream, requestFromWire, responseToWire } from '../wire-codec.ts';
import { ActiveRequests } from './active-requests.ts';
import { PeerConnections } from './peer-connections.ts';
import { RepeatedWrites } from './repeated-writes.ts';

export interface OwnerServerOptions {
  readonly instance: Instance;
  readonly ownerId: string;
  /** Returns undefined for a request that was not begun and never will be: its sender turns to the next owner. */
  readonly handle: (request: PlainRequest) => MaybePromise<PlainResponse | undefined>;
  /**
   * Called every 10 s while a request or a body of a service worker is open. Browsers end an idle service worker, and cut the
   * bodies that go through it, unless an event reaches it.
   */
  readonly keepAlive?: (() => void) | undefined;
  /** Sends a port to the service worker that sends requests. Without it, and if the port is lost, everything goes over the channels. */
  readonly offerPort?: ((offer: PortOffer, port: MessagePort) => void) | undefined;
  readonly clock?: Clock | undefined;
  /** Default: `PROTOCOL`; tests set another. */
  readonly protocol?: number | undefined;
}

export interface OwnerServer {
  /** Refuses new requests from now on, so that their senders wait for the next owner. Requests in progress go on. */
  refuse(): void;
  /** Resolves when the responses to all accepted requests are sent. */
  answered(): Promise<void>;
  /** Aborts what is still in progress, and answers nothing more. Continues to refuse new requests. */
  leave(): void;
  /**
   * Continues to refuse for a second, then stops listening. To be called after the storage was released: if no one listens, a request is
   * assumed to have started until the locks show that the owner is gone.
   */
  close(): void;
}

const KEEP_ALIVE_MS = 10_000;

/** Each new service worker gets a port, and the owner isn't told when one stops: at most this many ports are kept. */
const MAX_PORTS = 8;

/** How long others may continue to send requests to an owner that is gone, until they notice. */
const LINGER_MS = 1000;

export function createOwnerServer(options: OwnerServerOptions): OwnerServer {
  return new ChannelServer(options);
}

type Answer = Payload<FromOwner>;
type PingMessage = Extract<ToOwner, { readonly kind: 'ping' }>;
type RequestMessage = Extract<ToOwner, { readonly kind: 'request' }>;

class ChannelServer implements OwnerServer {
  readonly #options: OwnerServerOptions;
  readonly #protocol: number;
  readonly #own: BroadcastChannel;
  readonly #peers: PeerConnections;
  readonly #pipes: ChannelPipes;
  /** Requests in progress, by sender and number. */
  readonly #calls = new Map<string, AbortController | undefined>();
  readonly #ofServiceWorkers = new ActiveRequests();
  readonly #writes: RepeatedWrites;
  #keepAlive: ReturnType<typeof setInterval> | undefined;
  #answeredWaiters: (() => void)[] = [];
  #isRefusing = false;
  #hasLeft = false;

  constructor(options: OwnerServerOptions) {
    const { instance, ownerId, clock = systemClock, protocol = PROTOCOL } = options;
    this.#options = options;
    this.#protocol = protocol;
    this.#writes = new RepeatedWrites(clock);
    this.#peers = new PeerConnections(instance);
    this.#pipes = new ChannelPipes((...step) => this.#postStep(...step));
    this.#own = new BroadcastChannel(channelName(instance, ownerId));
    this.#own.onmessage = ({ data }: MessageEvent<unknown>) => this.#take(asToOwner(data));
  }

  refuse(): void {
    this.#isRefusing = true;
  }

  answered(): Promise<void> {
    if (this.#calls.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#answeredWaiters.push(resolve));
  }

  leave(): void {
    this.#isRefusing = true;
    this.#pipes.endAll('The tab that answered has released the storage; send the request again');
    this.#hasLeft = true;
    this.#endKeepAlive();
    for (const call of this.#calls.values()) call?.abort();
  }

  close(): void {
    setTimeout(() => {
      this.#own.close();
      this.#peers.close();
    }, LINGER_MS);
  }

  #take(message: ToOwner | undefined): void {
    if (message === undefined) return;
    // A ping only asks for a sign of life, so it is answered whatever the sender's protocol is.
    if (message.kind === 'ping') this.#pong(message);
    else if (message.kind === 'request') this.#takeRequest(message);
    else if (message.protocol !== this.#protocol) return;
    else if (message.kind === 'abort') this.#calls.get(callKey(message))?.abort();
    else if (message.kind === 'received') this.#writes.confirm(linkOf(message.from), message.received);
    else this.#pipes.deliver(message.from, message.stream, message.step);
  }

  /**
   * Names the sender's requests that are not here. That is also true of a request that was answered, but then the response arrives
   * first. An owner that has broken off its requests sends nothing: it must not say of a write that it never arrived.
   */
  #pong({ from, pending = [] }: PingMessage): void {
    const unknown = pending.filter((id) => !this.#calls.has(callKey({ from, id })));
    this.#post(from, unknown.length > 0 ? { kind: 'pong', unknown } : { kind: 'pong' });
  }

  #takeRequest(message: RequestMessage): void {
    const { from, id } = message;
    if (message.protocol !== this.#protocol) this.#post(from, { kind: 'refused', id, why: 'protocol' });
    else if (this.#isRefusing) this.#post(from, { kind: 'refused', id, why: 'leaving' });
    else void this.#answer(message);
  }

  async #answer(message: RequestMessage): Promise<void> {
    const { from, id } = message;
    const key = callKey(message);
    // No browser tells a service worker that a request was aborted, and creating a controller takes time.
    const call = message.carrier === 'service-worker' ? undefined : new AbortController();
    this.#calls.set(key, call);
    try {
      // Usually the response is available at once, and is sent in this turn.
      const handled = this.#handle(message, call?.signal);
      const response = handled instanceof Promise ? await handled : handled;
      if (response === undefined) this.#post(from, { kind: 'refused', id, why: 'leaving' });
      else await this.#send(message, response, call?.signal);
    } catch (error) {
      this.#post(from, { kind: 'answer', id, response: brokenAnswer(error, message.request.method) });
    } finally {
      this.#calls.delete(key);
      if (this.#calls.size === 0) for (const resume of this.#answeredWaiters.splice(0)) resume();
    }
  }

  #handle(message: RequestMessage, signal: AbortSignal | undefined): MaybePromise<PlainResponse | undefined> {
    const { handle } = this.#options;
    const request = requestFromWire(message.request, this.#pipes.transportFor(message.from), signal);
    if (message.carrier !== 'service-worker') return handle(request);
    this.#offerPort(message.from);
    this.#beginKeepAlive();
    const run = () => this.#ofServiceWorkers.run(handle, request);
    const link = linkOf(message.from);
    if (message.received !== undefined) this.#writes.confirm(link, message.received);
    if (isReadOnlyRequest(request, this.#options.instance.base)) return run();
    return this.#writes.once({ link, id: message.id, request: message.request }, run);
  }

  async #send({ from, id }: RequestMessage, response: PlainResponse, signal: AbortSignal | undefined): Promise<void> {
    if ((signal?.aborted || this.#hasLeft) && isStream(response.body)) {
      await response.body.cancel('no one waits for it any more');
      return;
    }
    const coded = responseToWire(response, this.#pipes.transportFor(from));
    this.#post(from, { kind: 'answer', id, response: coded instanceof Promise ? await coded : coded });
  }

  #offerPort(peer: string): void {
    const { offerPort, instance, ownerId: owner } = this.#options;
    const name = onPort(peer);
    if (offerPort === undefined || this.#peers.hasPort(peer) || this.#peers.hasPort(name)) return;
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }: MessageEvent<unknown>) => this.#take(asToOwner(data));
    this.#peers.addPort(name, port1);
    const ports = this.#peers.portPeers;
    const idle = ports.length > MAX_PORTS ? ports.find((one) => one !== name && this.#isIdle(one)) : undefined;
    if (idle !== undefined) this.#closePort(idle);
    offerPort({ type: 'SETTEE_PORT', base: instance.base, owner, peer }, port2);
  }

  #isIdle(peer: string): boolean {
    const ofPeer = callKey({ from: peer, id: '' });
    return this.#pipes.openBodies(peer) === 0 && ![...this.#calls.keys()].some((key) => key.startsWith(ofPeer));
  }

  #closePort(peer: string): void {
    this.#post(peer, { kind: 'closed' });
    this.#peers.closePort(peer);
  }

  #beginKeepAlive(): void {
    const { keepAlive } = this.#options;
    if (keepAlive !== undefined)
      this.#keepAlive ??= setInterval(() => this.#onKeepAliveTimer(keepAlive), KEEP_ALIVE_MS);
  }

  /** The timer is not cleared at the end of each request: setting one takes longer than most of a request does. */
  #onKeepAliveTimer(keepAlive: () => void): void {
    if (this.#ofServiceWorkers.count > 0) keepAlive();
    else this.#endKeepAlive();
  }

  #endKeepAlive(): void {
    clearInterval(this.#keepAlive);
    this.#keepAlive = undefined;
  }

  #post(peer: string, answer: Answer): void {
    if (this.#hasLeft && answer.kind !== 'refused') return;
    this.#peers.post(peer, this.#toMessage(answer));
  }

  #postStep(peer: string, stream: string, step: BodyStep, isMovable: boolean): void {
    if (this.#hasLeft) return;
    this.#peers.postStep(peer, step, isMovable, (sent) => this.#toMessage({ kind: 'body', stream, step: sent }));
  }

  #toMessage(answer: Answer): FromOwner {
    return { protocol: this.#protocol, from: this.#options.ownerId, ...answer };
  }
}

function callKey({ from, id }: { readonly from: string; readonly id: number | '' }): string {
  return `${from} ${id}`;
}

/** For failures that only happen if a body differs from its announcement. */
function brokenAnswer(error: unknown, method: string): WireResponse {
  return serviceUnavailable(`The response could not be sent: ${error}`, method);
}
