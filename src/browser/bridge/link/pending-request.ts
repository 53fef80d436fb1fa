/** A request that is not settled yet, with everything needed to send it again when an owner is lost. `link.ts` describes its states. */
import type { ByteStream, PlainRequest, PlainResponse, RequestBody } from '../../../base/shared/message.ts';
import { serviceUnavailable } from '../service-unavailable.ts';
import type { WireRequest } from '../wire.ts';
import { isStream, type StreamTransport, wireRequest } from '../wire-codec.ts';

/** Larger bodies travel as Blobs, which messages carry by reference instead of as one copy for every listener. */
const BLOB_SIZE = 1_048_576;
/** A request that was in progress when three owners were lost may be what ended them; it isn't sent to a fourth. */
const MAX_SENDS = 3;

export interface PendingOptions {
  readonly request: PlainRequest;
  /** The request's body as `withoutSmallStream` returned it. */
  readonly body: RequestBody;
  /** Whether carrying it out twice makes no visible difference. */
  readonly isReadOnly: boolean;
  resolve(response: PlainResponse): void;
  reject(reason: unknown): void;
  /** The request's signal was aborted before a response came. */
  onAbort(pending: PendingRequest): void;
}

export class PendingRequest {
  /** A new number each time it is sent, so that messages about an earlier attempt are ignored. */
  id = 0;
  readonly request: PlainRequest;
  /** How many ticks of the link it has waited for an owner in total. */
  ticks = 0;
  readonly #options: PendingOptions;
  readonly #upload: Upload | undefined;
  readonly #onAbort: (() => void) | undefined;
  /** What is sent if the body is not a stream. */
  readonly #wire: WireRequest;
  #sends = 0;

  constructor(options: PendingOptions) {
    const { request, body } = options;
    const { method, url, headers } = request;
    this.request = request;
    this.#options = options;
    if (isStream(body)) this.#upload = new Upload(body);
    this.#wire = { method, url, headers, body: isStream(body) ? null : byReference(body) };
    if (request.signal === undefined) return;
    this.#onAbort = () => options.onAbort(this);
    request.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  toWire(transport: StreamTransport): WireRequest {
    this.#sends++;
    if (this.#upload !== undefined) return wireRequest(this.request, this.#upload.begin(), transport);
    return this.#wire;
  }

  /** Whether it may be sent to another owner after an owner that had it was lost. */
  get canRepeat(): boolean {
    return this.#options.isReadOnly && this.isWhole && this.#sends < MAX_SENDS;
  }

  /** Whether its body is still complete. */
  get isWhole(): boolean {
    return this.#upload?.isTouched !== true;
  }

  /** Takes the body back from an owner that has not begun to read it, so that it can be sent to another one. */
  withdraw(): void {
    this.#upload?.withdraw();
  }

  get isReadOnly(): boolean {
    return this.#options.isReadOnly;
  }

  resolve(response: PlainResponse): void {
    this.#unwatch();
    this.#options.resolve(response);
  }

  /** Answers it with 503. Its body is no longer read. */
  giveUp(reason: string): void {
    this.resolve(serviceUnavailable(reason, this.request.method));
    this.#upload?.cancel(reason);
  }

  reject(reason: unknown): void {
    this.#unwatch();
    this.#upload?.cancel(reason);
    this.#options.reject(reason);
  }

  #unwatch(): void {
    if (this.#onAbort !== undefined) this.request.signal?.removeEventListener('abort', this.#onAbort);
  }
}

/** A request's body that is a stream. It can be offered to several owners, one after another, until one has begun to read it. */
class Upload {
  isTouched = false;
  readonly #source: ByteStream;
  /** Counts the offers; only the latest may read or cancel the source. */
  #round = 0;

  constructor(source: ByteStream) {
    this.#source = source;
  }

  begin(): ByteStream {
    const round = ++this.#round;
    const { length, isMovable = false } = this.#source;
    const stream = {
      isMovable,
      pull: () => this.#pull(round),
      cancel: async (reason?: unknown) => {
        if (round === this.#round) await this.#source.cancel(reason);
      },
    };
    return length === undefined ? stream : { ...stream, length };
  }

  withdraw(): void {
    this.#round++;
  }

  cancel(reason: unknown): void {
    this.withdraw();
    this.#source.cancel(reason).catch(() => {});
  }

  #pull(round: number): Promise<Uint8Array | undefined> {
    if (round !== this.#round) return Promise.reject(new Error('The request was taken back'));
    this.isTouched = true;
    return this.#source.pull();
  }
}

function byReference(body: Exclude<RequestBody, ByteStream>): WireRequest['body'] {
  if (body === null || body instanceof Blob) return body;
  if (typeof body === 'string') return body.length > BLOB_SIZE ? new Blob([body]) : body;
  // The copy tells the compiler that the memory isn't shared; a Blob would make one anyway.
  return body.byteLength > BLOB_SIZE ? new Blob([new Uint8Array(body)]) : body;
}
