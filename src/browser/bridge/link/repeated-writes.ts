/**
 * Keeps a write from being carried out twice when the browser sends it twice. Chromium restarts a service worker that was stopped
 * before it answered (by the browser, or with the process of another tab), and hands it all its open requests again. Such a request comes
 * from a new link, under a new number, and nothing in it shows that it was sent before.
 *
 * So the owner keeps every write of a service worker until that confirms that the response has arrived. An equal write (method,
 * address, headers, body) that comes from another link meanwhile is the same one: it is not carried out, and gets the same response.
 *
 * It can't be detected whether a page has sent an equal write of its own while the service worker was restarted; such a write is also taken
 * for the same. A link confirms within half a second, so only what a page sends twice in that time, while a service worker ends,
 * is affected.
 */
import type { Clock } from '../../../base/shared/clock.ts';
import { type MaybePromise, orElse, whenReady } from '../../../base/shared/maybe-promise.ts';
import type { PlainResponse } from '../../../base/shared/message.ts';
import { serviceUnavailable } from '../service-unavailable.ts';
import type { WireRequest } from '../wire.ts';
import { isStream, withoutSmallStream } from '../wire-codec.ts';

/** How long an unconfirmed write is kept, counted from its beginning. A service worker is restarted within some seconds. */
const KEPT_MS = 30_000;
/** For the bodies of all that is kept; the oldest are dropped first. */
const MAX_BYTES = 16 * 1024 * 1024;

/** A write as it came from a service worker: `link` is the same for everything that one life of a service worker sends, by channel or port. */
export interface SentWrite {
  readonly link: string;
  readonly id: number;
  readonly request: WireRequest;
}

/** Undefined if the write was not begun and never will be: its sender turns to the next owner. */
export type Outcome = PlainResponse | undefined;

interface KeptWrite {
  link: string;
  id: number;
  readonly request: WireRequest;
  readonly bytes: number;
  readonly begunAt: number;
  readonly outcome: Promise<Outcome>;
}

export class RepeatedWrites {
  readonly #clock: Clock;
  /** In the order in which they came. */
  readonly #kept = new Set<KeptWrite>();
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Carries the write out, or returns the outcome of the same write that came from another link. */
  once(sent: SentWrite, carryOut: () => MaybePromise<Outcome>): MaybePromise<Outcome> {
    this.#forgetOld();
    const alike = this.#alike(sent);
    if (alike.length === 0) return this.#first(sent, carryOut);
    return this.#sameOf(alike, sent).then((same) => {
      if (same === undefined) return this.#first(sent, carryOut);
      // From now on the new link must confirm it.
      same.link = sent.link;
      same.id = sent.id;
      return same.outcome;
    });
  }

  /** The responses to these requests have reached the link. */
  confirm(link: string, ids: readonly number[]): void {
    for (const write of this.#kept) {
      if (write.link === link && ids.includes(write.id)) this.#forget(write);
    }
  }

  #first(sent: SentWrite, carryOut: () => MaybePromise<Outcome>): MaybePromise<Outcome> {
    let settle: (outcome: Outcome) => void = () => {};
    const outcome = new Promise<Outcome>((resolve) => {
      settle = resolve;
    });
    const write: KeptWrite = {
      ...sent,
      bytes: sizeOf(sent.request.body),
      begunAt: this.#clock.monotonic(),
      outcome,
    };
    this.#keep(write);
    const done = (response: Outcome): Outcome => {
      if (response === undefined) this.#forget(write);
      settle(shareable(response, sent.request.method));
      return response;
    };
    return orElse(
      () => whenReady(whenReady(carryOut(), withSmallBody), done),
      (failure) => {
        this.#forget(write);
        settle(serviceUnavailable(`The write failed: ${failure}`, sent.request.method));
        throw failure;
      },
    );
  }

  #alike({ link, request }: SentWrite): KeptWrite[] {
    const alike: KeptWrite[] = [];
    for (const write of this.#kept) {
      if (write.link !== link && isAlike(write.request, request)) alike.push(write);
    }
    return alike;
  }

  async #sameOf(alike: readonly KeptWrite[], { link, request }: SentWrite): Promise<KeptWrite | undefined> {
    for (const write of alike) {
      // Another one may have been taken for it meanwhile.
      if ((await haveEqualBodies(write.request, request)) && write.link !== link && this.#kept.has(write)) return write;
    }
    return undefined;
  }

  #keep(write: KeptWrite): void {
    this.#kept.add(write);
    this.#bytes += write.bytes;
  }

  #forget(write: KeptWrite): void {
    if (this.#kept.delete(write)) this.#bytes -= write.bytes;
  }

  #forgetOld(): void {
    const oldest = this.#clock.monotonic() - KEPT_MS;
    for (const write of this.#kept) {
      if (write.begunAt >= oldest && this.#bytes <= MAX_BYTES) return;
      this.#forget(write);
    }
  }
}

function withSmallBody(response: Outcome): MaybePromise<Outcome> {
  if (response === undefined || !isStream(response.body)) return response;
  return whenReady(withoutSmallStream(response.body), (body) => ({ ...response, body }));
}

/** A body that is a stream can be read only once, by the first sender of the write. */
function shareable(response: Outcome, method: string): Outcome {
  if (response === undefined || !isStream(response.body)) return response;
  return serviceUnavailable(
    'The service worker was stopped while it had this request, which was carried out; its response is lost, read before you write again',
    method,
  );
}

function isAlike(one: WireRequest, other: WireRequest): boolean {
  return (
    one.url === other.url &&
    one.method === other.method &&
    sizeOf(one.body) === sizeOf(other.body) &&
    JSON.stringify(one.headers) === JSON.stringify(other.headers)
  );
}

async function haveEqualBodies({ body: one }: WireRequest, { body: other }: WireRequest): Promise<boolean> {
  if (one === other) return true;
  const [a, b] = [await bytesOf(one), await bytesOf(other)];
  return a !== undefined && b !== undefined && a.length === b.length && a.every((byte, index) => byte === b[index]);
}

/** Undefined for streams: a body that large is never taken for another write. */
async function bytesOf(body: WireRequest['body']): Promise<Uint8Array | undefined> {
  if (body === null) return new Uint8Array();
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  return body instanceof Blob ? new Uint8Array(await body.arrayBuffer()) : undefined;
}

function sizeOf(body: WireRequest['body']): number {
  if (typeof body === 'string') return body.length;
  if (body instanceof Uint8Array) return body.byteLength;
  return body instanceof Blob ? body.size : 0;
}
