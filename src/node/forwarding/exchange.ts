import { DatabaseError } from '../../base/errors/database-error.ts';
import type { ByteStream, PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import { toBytes } from '../http/body-rules.ts';
import {
  type BodyKind,
  CANCEL,
  FAIL,
  frameOf,
  headFrameOf,
  parseResponseHead,
  REQUEST,
  type ResponseHead,
  splitHead,
} from './frames.ts';
import type { Link } from './link.ts';
import { ReceivedStream, StreamSender } from './streams.ts';

/** A request that was sent to the owner, and what comes back. */
export interface Exchange {
  respond(payload: Buffer): void;
  chunk(payload: Buffer): void;
  end(payload: Buffer): void;
  fail(payload: Buffer): void;
  grant(bytes: number): void;
  /** The owner reads no more of the body. */
  stopBody(isRefused: boolean): void;
  /** When it is called for the second time, it begins to watch whether the client goes away, which takes longer than most requests. */
  look(): void;
  isOn(link: Link): boolean;
  /** The connection to the owner has ended. `reason`: why the rest of a response does not come. */
  lose(link: Link, reason: string): void;
}

export class OpenExchange implements Exchange {
  readonly #link: Link;
  readonly #id: number;
  readonly #onEnd: () => void;
  #resolve: (response: PlainResponse | undefined) => void = () => undefined;
  #reject: (failure: DatabaseError) => void = () => undefined;
  #sender: StreamSender | undefined;
  #received: ReceivedStream | undefined;
  /** Until it is answered. */
  #request: PlainRequest | undefined;
  #looks = 0;
  #unwatch: (() => void) | undefined;
  #isAnswered = false;

  /** `onEnd` is called when nothing more can come. */
  constructor(link: Link, id: number, onEnd: () => void) {
    this.#link = link;
    this.#id = id;
    this.#onEnd = onEnd;
  }

  /**
   * Resolves with the response; with undefined if the owner has ended before it. Rejects with `cancelled` if the client goes away. `hops`: of the request as
   * it is sent.
   */
  run(
    request: PlainRequest,
    hops: number | undefined,
    whole: Uint8Array | null | undefined,
    stream: ByteStream | undefined,
  ): Promise<PlainResponse | undefined> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      const { method, url, headers, peer, scheme, user } = request;
      const body: BodyKind = stream === undefined ? (whole ? 'bytes' : 'null') : 'stream';
      const isObserved = request.observed !== undefined || undefined;
      const head = { method, url, headers, peer, scheme, user, hops, isObserved, body, length: stream?.length };
      this.#link.send(headFrameOf(REQUEST, this.#id, head, whole ?? undefined));
      this.#request = request;
      if (stream === undefined) return;
      this.#sender = new StreamSender(this.#link, this.#id, stream);
      // What failed is the client's connection, or a rule of this process, which the owner answers with.
      void this.#sender.run(() => undefined);
    });
  }

  respond(payload: Buffer): void {
    const { head, bytes } = splitHead(payload);
    const response = parseResponseHead(head);
    this.#isAnswered = true;
    const { observed } = this.#request ?? {};
    if (observed !== undefined) observed.user = response.user;
    this.#forget();
    if (response.body === 'stream') {
      this.#received = new ReceivedStream(this.#link, this.#id, response.length, () => this.#abort());
    }
    const body = this.#received ?? (response.body === 'bytes' ? toBytes(bytes) : null);
    this.#resolve(toPlain(response, body));
    if (this.#received === undefined) this.#finish();
  }

  chunk(payload: Buffer): void {
    this.#received?.take(payload);
  }

  end(payload: Buffer): void {
    this.#received?.end(payload);
    this.#finish();
  }

  fail(payload: Buffer): void {
    this.#received?.failBy(payload);
    this.#finish();
  }

  grant(bytes: number): void {
    this.#sender?.grant(bytes);
  }

  stopBody(isRefused: boolean): void {
    this.#sender?.cancel(isRefused ? new DatabaseError('cancelled', 'The body was refused.') : undefined);
  }

  isOn(link: Link): boolean {
    return link === this.#link;
  }

  lose(link: Link, reason: string): void {
    if (link !== this.#link) return;
    this.#received?.fail({ code: 'cancelled', reason });
    this.#resolve(undefined);
    this.#finish();
  }

  look(): void {
    this.#looks++;
    const signal = this.#looks === 2 ? this.#request?.signal : undefined;
    if (signal === undefined) return;
    const onAbort = () => {
      this.#abort();
      this.#reject(new DatabaseError('cancelled', 'The client has gone.'));
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    this.#unwatch = () => signal.removeEventListener('abort', onAbort);
  }

  #abort(): void {
    this.#link.send(frameOf(CANCEL, this.#id));
    this.#finish();
  }

  /** What the body holds counts until then: the owner has it as long. */
  #forget(): void {
    this.#request?.held?.release();
    this.#request = undefined;
    this.#unwatch?.();
  }

  #finish(): void {
    this.#forget();
    if (this.#sender?.isOver === false) {
      this.#sender.cancel();
      // The owner does not wait for the rest of the body.
      if (this.#isAnswered) this.#link.send(frameOf(FAIL, this.#id, UNREAD));
    }
    this.#onEnd();
  }
}

const UNREAD = JSON.stringify({ code: 'cancelled', reason: 'The rest of the body was not sent.' });

function toPlain({ status, headers, errorCode }: ResponseHead, body: PlainResponse['body']): PlainResponse {
  return { status, headers, body, ...(errorCode !== undefined && { errorCode }) };
}
