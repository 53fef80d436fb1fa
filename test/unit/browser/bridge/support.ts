/** What the tests of the bridge work with: pipes in memory, sources that can be watched, and an owner that does as it is told. */

import type { ByteStream, PlainRequest, PlainResponse, RequestBody } from '../../../../src/base/shared/message.ts';
import type { StepPipe } from '../../../../src/browser/bridge/body-streams.ts';
import { aliveLock, channelName, createInstance, ownerLock } from '../../../../src/browser/bridge/instance.ts';
import { ChannelPipes } from '../../../../src/browser/bridge/stream-transports.ts';
import {
  type BodyStep,
  type FromOwner,
  PROTOCOL,
  type ToAll,
  type ToOwner,
} from '../../../../src/browser/bridge/wire.ts';
import { requestFromWire, responseToWire } from '../../../../src/browser/bridge/wire-codec.ts';
import type { FakeLockClient, FakeLocks } from '../../../support/fake-locks.ts';

export const newInstance = () => createInstance(`/${crypto.randomUUID()}/`, 'https://app.example');

/** Lets messages of ports and channels arrive; unlike timers it is never faked. */
export async function messagesArrived(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Waits until it holds, for messages only; no timer passes. */
export async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 2000; turn++) {
    if (holds()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`never came true: ${holds}`);
}

export interface MemoryPipe extends StepPipe {
  /** What was sent from this side. */
  readonly sent: BodyStep[];
  isClosed: boolean;
}

/** Two ends; steps arrive in a microtask, and none at an end that is closed. */
export function pipePair(): [MemoryPipe, MemoryPipe] {
  const listeners: [(step: BodyStep) => void, (step: BodyStep) => void] = [() => {}, () => {}];
  const end = (self: 0 | 1): MemoryPipe => ({
    sent: [],
    isClosed: false,
    send(step) {
      this.sent.push(step);
      queueMicrotask(() => {
        if (!ends[self === 0 ? 1 : 0].isClosed) listeners[self === 0 ? 1 : 0](step);
      });
    },
    listen(listener) {
      listeners[self] = listener;
    },
    close() {
      this.isClosed = true;
    },
  });
  const ends: [MemoryPipe, MemoryPipe] = [end(0), end(1)];
  return ends;
}

export interface Source extends ByteStream {
  pulls: number;
  cancelled: string | undefined;
}

export interface SourceOptions {
  readonly length?: number;
  /** Thrown where the chunks end. */
  readonly failure?: Error;
  /** Where the chunks end nothing comes any more, not even the end. */
  readonly isEndless?: boolean;
}

export function sourceOf(chunks: readonly Uint8Array[], options: SourceOptions = {}): Source {
  const source: Source = {
    pulls: 0,
    cancelled: undefined,
    pull: async () => {
      const chunk = chunks[source.pulls++];
      if (chunk === undefined && options.failure !== undefined) throw options.failure;
      if (chunk === undefined && options.isEndless === true) return new Promise(() => {});
      return chunk;
    },
    cancel: async (reason) => {
      source.cancelled = reason instanceof Error ? reason.message : String(reason);
    },
  };
  return options.length === undefined ? source : Object.assign(source, { length: options.length });
}

export const bytes = (...values: number[]): Uint8Array => new Uint8Array(values);

export async function readAll(stream: ByteStream): Promise<number[]> {
  const all: number[] = [];
  for (let chunk = await stream.pull(); chunk !== undefined; chunk = await stream.pull()) all.push(...chunk);
  return all;
}

export function isStream(body: RequestBody | PlainResponse['body']): body is ByteStream {
  return typeof body === 'object' && body !== null && 'pull' in body;
}

export function streamOf(body: RequestBody | PlainResponse['body']): ByteStream {
  if (!isStream(body)) throw new Error('no stream');
  return body;
}

export const text = (body: PlainResponse['body']): string => (typeof body === 'string' ? body : 'no text');

/** The message that closes a 503 of the bridge. */
export function reasonOf({ status, body }: PlainResponse): string {
  const { error, reason } = JSON.parse(text(body));
  if (status !== 503 || error !== 'service_unavailable') throw new Error(`${status} ${text(body)}`);
  return reason;
}

export type Answering = (request: PlainRequest) => Promise<PlainResponse> | PlainResponse;

/** An owner made from nothing but the wire's messages. */
export class ScriptedOwner {
  readonly id = crypto.randomUUID();
  /** `METHOD path` of each request that came, the path without the base. */
  readonly requests: string[] = [];
  readonly aborted: number[] = [];
  pings = 0;
  answering: Answering = () => ({ status: 200, headers: {}, body: this.id });
  /** Says nothing, as if it was frozen. */
  isFrozen = false;
  refuses: 'leaving' | 'protocol' | undefined;
  protocol = PROTOCOL;
  /** How many of the next requests never reach it. */
  misses = 0;
  /** How often it answers each ping. */
  pongs = 1;
  readonly locks: FakeLockClient;
  readonly pipes: ChannelPipes;
  readonly #instance: ReturnType<typeof newInstance>;
  readonly #inbox: BroadcastChannel;
  readonly #all: BroadcastChannel;
  readonly #peers = new Map<string, BroadcastChannel>();
  readonly #missed = new Set<string>();
  readonly #asked: { readonly from: string; readonly id: number }[] = [];

  constructor(instance: ReturnType<typeof newInstance>, table: FakeLocks) {
    this.#instance = instance;
    this.locks = table.client();
    this.#all = new BroadcastChannel(channelName(instance));
    this.#inbox = new BroadcastChannel(channelName(instance, this.id));
    this.#inbox.onmessage = ({ data }: MessageEvent<ToOwner>) => this.#receive(data);
    this.pipes = new ChannelPipes((peer, stream, step) => this.#post(peer, { kind: 'body', stream, step }));
  }

  /** Takes the locks. */
  async rise(options: LockOptions = {}): Promise<this> {
    await this.#hold(ownerLock(this.#instance), options);
    await this.#hold(aliveLock(this.#instance, this.id), {});
    return this;
  }

  announce(): void {
    const message: ToAll = { protocol: this.protocol, from: this.id, kind: 'owner' };
    this.#all.postMessage(message);
  }

  /** Says of everything that it was asked that it did not begin it. */
  refuseAll(): void {
    for (const { from, id } of this.#asked) this.#post(from, { kind: 'refused', id, why: 'leaving' });
  }

  /** The end of its process. */
  die(): void {
    this.close();
    this.locks.kill();
  }

  close(): void {
    this.isFrozen = true;
    this.#all.close();
    this.#inbox.close();
    for (const peer of this.#peers.values()) peer.close();
  }

  #hold(name: string, options: LockOptions): Promise<void> {
    return new Promise((resolve) => {
      const forEver = (): Promise<never> => {
        resolve();
        return new Promise(() => {});
      };
      this.locks.request(name, options, forEver).catch(() => {});
    });
  }

  #receive(message: ToOwner): void {
    if (message.kind === 'ping') this.pings++;
    if (message.kind === 'abort') this.aborted.push(message.id);
    if (message.kind === 'request' && this.misses > 0) {
      this.misses--;
      this.#missed.add(`${message.from} ${message.id}`);
      return;
    }
    if (message.kind === 'request') {
      const path = message.request.url.replace(this.#instance.base, '');
      this.#asked.push({ from: message.from, id: message.id });
      this.requests.push(`${message.request.method} ${path}`);
    }
    if (this.isFrozen) return;
    if (message.kind === 'ping') this.#pong(message);
    else if (message.kind === 'body') this.pipes.deliver(message.from, message.stream, message.step);
    else if (message.kind === 'request') void this.#answer(message);
  }

  #pong({ from, pending = [] }: ToOwner & { kind: 'ping' }): void {
    const unknown = pending.filter((id) => this.#missed.has(`${from} ${id}`));
    for (let count = 0; count < this.pongs; count++) this.#post(from, { kind: 'pong', unknown });
  }

  async #answer({ from, id, request }: ToOwner & { kind: 'request' }): Promise<void> {
    if (this.refuses !== undefined) return this.#post(from, { kind: 'refused', id, why: this.refuses });
    const transport = this.pipes.transportFor(from);
    const response = await this.answering(requestFromWire(request, transport));
    if (!this.isFrozen) this.#post(from, { kind: 'answer', id, response: await responseToWire(response, transport) });
  }

  #post(to: string, message: Payload<FromOwner>): void {
    const peer = this.#peers.get(to) ?? new BroadcastChannel(channelName(this.#instance, to));
    this.#peers.set(to, peer);
    peer.postMessage({ protocol: this.protocol, from: this.id, ...message });
  }
}

type Payload<M> = M extends unknown ? Omit<M, 'protocol' | 'from'> : never;
