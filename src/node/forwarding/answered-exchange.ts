import { isDatabaseError } from '../../base/errors/database-error.ts';
import type { ByteLease } from '../../base/shared/byte-budget.ts';
import type {
  ByteStream,
  Handle,
  ObservedRequest,
  PlainHeaders,
  PlainRequest,
  PlainResponse,
  RequestUser,
} from '../../base/shared/message.ts';
import { toBytes } from '../http/body-rules.ts';
import type { Refusal } from '../http/refusals.ts';
import { toLongText } from '../http/response.ts';
import { parseTrace, traceHeaders } from '../tracing/trace-context.ts';
import { toStream } from './bodies.ts';
import { CANCEL, frameOf, headFrameOf, RESPONSE, type RequestHead } from './frames.ts';
import type { Link } from './link.ts';
import { ReceivedStream, StreamSender } from './streams.ts';

/** A longer text or more bytes are sent as a stream: their client may be slow. */
const MAX_WHOLE_UNITS = 65_536;

interface AnswerOptions {
  readonly handle: Handle;
  readonly refusal: (peer: string | undefined) => Refusal | undefined;
  readonly onFailure: (request: string, error: unknown) => void;
  /** Called before a response is sent. */
  readonly beforeResponse: () => void;
  /** Called when nothing more can come. */
  readonly onEnd: () => void;
}

/** A request of a reader, or of another server, which is answered here. */
export class AnsweredExchange implements PlainRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: PlainHeaders;
  readonly body: PlainRequest['body'];
  readonly peer: string | undefined;
  readonly scheme: 'https' | undefined;
  readonly user: RequestUser | undefined;
  readonly hops: number | undefined;
  readonly observed: ObservedRequest | undefined;
  readonly returnsHeld = true;
  readonly #link: Link;
  readonly #id: number;
  readonly #options: AnswerOptions;
  readonly #received: ReceivedStream | undefined;
  #abortion: AbortController | undefined;
  #sender: StreamSender | undefined;
  #isOver = false;

  constructor(link: Link, id: number, head: RequestHead, bytes: Buffer, options: AnswerOptions) {
    this.#link = link;
    this.#id = id;
    this.#options = options;
    this.method = head.method;
    this.url = head.url;
    this.peer = head.peer;
    this.scheme = head.scheme;
    this.user = head.user;
    this.hops = head.hops;
    const trace = parseTrace(head.headers);
    const onward = trace && traceHeaders(trace);
    // Another process to which the request is passed on takes it from there.
    this.headers = onward === undefined ? head.headers : { ...head.headers, ...onward };
    if (onward !== undefined || head.isObserved === true) this.observed = { trace: onward };
    if (head.body === 'stream') {
      this.#received = new ReceivedStream(link, id, head.length, (reason) => this.#stopBody(reason));
    }
    this.body = this.#received ?? (head.body === 'bytes' ? toBytes(bytes) : null);
  }

  /** Created on demand, because most requests are answered before they could be aborted. */
  get signal(): AbortSignal {
    this.#abortion ??= new AbortController();
    if (this.#isOver) this.#abortion.abort();
    return this.#abortion.signal;
  }

  /** For the order in which requests begin: see `Entrance`. */
  get remoteAddress(): string | undefined {
    return this.peer;
  }

  get destroyed(): boolean {
    return this.#isOver;
  }

  async answer(): Promise<void> {
    try {
      const refusal = this.#options.refusal(this.peer);
      if (refusal !== undefined) return this.#refuse(refusal);
      const answer = this.#options.handle(this);
      const response = answer instanceof Promise ? await answer : answer;
      const long = toLongText(response, MAX_WHOLE_UNITS);
      this.#send(response, long instanceof Promise ? await long : long);
    } catch (error) {
      if (!isDatabaseError(error, 'cancelled')) this.#options.onFailure(`${this.method} ${this.url}`, error);
      this.#refuse(FAILED);
    }
  }

  chunk(payload: Buffer): void {
    this.#received?.take(payload);
  }

  endBody(payload: Buffer): void {
    this.#received?.end(payload);
  }

  failBody(payload: Buffer): void {
    this.#received?.failBy(payload);
  }

  grant(bytes: number): void {
    this.#sender?.grant(bytes);
  }

  /** The client, or the process that it is connected to, has gone. */
  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#received?.fail({ code: 'cancelled', reason: 'The client has gone.', isAtOnce: true });
    this.#sender?.cancel();
    this.#abortion?.abort();
    this.#options.onEnd();
  }

  #send(response: PlainResponse, long: ByteStream | undefined): void {
    const { held, body } = response;
    if (this.#isOver) {
      held?.release();
      if (isStream(body)) body.cancel().catch(() => undefined);
      return;
    }
    const stream = long ?? (isStream(body) ? body : bigBytes(body));
    this.#options.beforeResponse();
    if (stream === undefined || this.method === 'HEAD') this.#sendWhole(response, stream);
    else this.#sendStream(response, stream, held);
  }

  #sendWhole({ status, headers, errorCode, body, held }: PlainResponse, stream: ByteStream | undefined): void {
    const bytes = stream !== undefined || body === null || isStream(body) ? undefined : bytesOf(body);
    const head = {
      ...{ status, errorCode, user: this.observed?.user, headers: withDefaults(headers, body, stream?.length) },
      body: bytes === undefined ? ('null' as const) : ('bytes' as const),
    };
    this.#link.send(headFrameOf(RESPONSE, this.#id, head, bytes));
    stream?.cancel().catch((error: unknown) => this.#broken(error));
    held?.release();
    this.#finish();
  }

  #sendStream(
    { status, headers, errorCode, body }: PlainResponse,
    stream: ByteStream,
    held: ByteLease | undefined,
  ): void {
    const { length } = stream;
    const head = {
      status,
      errorCode,
      user: this.observed?.user,
      headers: withDefaults(headers, body, undefined),
      body: 'stream' as const,
      length,
    };
    this.#link.send(headFrameOf(RESPONSE, this.#id, head));
    const sender = new StreamSender(this.#link, this.#id, stream);
    this.#sender = sender;
    if (held !== undefined) held.giveWay = () => sender.breakOff();
    void sender
      .run((error) => this.#broken(error))
      .finally(() => {
        held?.release();
        this.#finish();
      });
  }

  #broken(error: unknown): void {
    this.#options.onFailure(`${this.method} ${this.url}`, error);
  }

  #refuse({ status, error, reason, headers }: Refusal): void {
    if (this.#isOver) return;
    const body = `${JSON.stringify({ error, reason })}\n`;
    this.#send({ status, headers: { ...REFUSAL_HEADERS, ...headers }, body }, undefined);
  }

  /** The core reads no more of the body. */
  #stopBody(reason: unknown): void {
    this.#link.send(frameOf(CANCEL, this.#id, new Uint8Array([reason === undefined ? 0 : 1])));
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.onEnd();
  }
}

const REFUSAL_HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' };

const FAILED: Refusal = {
  status: 500,
  error: 'unknown_error',
  reason: 'The service failed to process this request; its log says why.',
};

function isStream(body: PlainResponse['body']): body is ByteStream {
  return body !== null && typeof body !== 'string' && !(body instanceof Uint8Array);
}

function bigBytes(body: string | Uint8Array | null): ByteStream | undefined {
  return body !== null && body.length > MAX_WHOLE_UNITS ? toStream(body) : undefined;
}

function bytesOf(body: string | Uint8Array): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body;
}

/** The headers that a host adds: the type of a text, and for HEAD the length. */
function withDefaults(headers: PlainHeaders, body: PlainResponse['body'], length: number | undefined): PlainHeaders {
  const isTyped = typeof body !== 'string' || 'content-type' in headers;
  const typed = isTyped ? headers : { ...headers, 'content-type': 'text/plain;charset=UTF-8' };
  return length === undefined || 'content-length' in typed ? typed : { ...typed, 'content-length': `${length}` };
}
