import { JsonPieces } from './json-pieces.ts';

/** A body as text, or an object that reads it piece by piece. */
export type TextSource = string | { readText(take: (piece: string) => void): Promise<void> };

/**
 * A `Response` with an address, like one from a network. Its text is not encoded as bytes and decoded again, as the browser would do,
 * since that takes longer than everything before.
 */
export class DirectResponse extends Response {
  readonly #url: string;
  readonly #redirected: boolean;
  /** Set as long as the body can be read here; null once it was read, and undefined if it is left to the browser. */
  #source: TextSource | null | undefined;

  /** `source` reads the same body as text. Statuses that never have a body (Fetch, 2.2.3) get none. */
  constructor(
    url: string,
    init: ResponseInit,
    body: BodyInit | null,
    source: TextSource | undefined,
    redirected: boolean,
  ) {
    super(body, init);
    this.#url = url;
    this.#redirected = redirected;
    this.#source = source;
  }

  override get url(): string {
    return this.#url;
  }

  override get redirected(): boolean {
    return this.#redirected;
  }

  override get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    this.#source &&= undefined;
    return super.body;
  }

  override get bodyUsed(): boolean {
    return this.#source === null || super.bodyUsed;
  }

  override async text(): Promise<string> {
    const source = this.#take();
    if (source === undefined) return super.text();
    if (typeof source === 'string') return source;
    let whole = '';
    await source.readText((piece) => {
      whole += piece;
    });
    return whole;
  }

  override async json(): Promise<unknown> {
    const source = this.#take();
    if (source === undefined) return super.json();
    if (typeof source === 'string') return JSON.parse(source);
    const pieces = new JsonPieces();
    await source.readText((piece) => pieces.add(piece));
    return pieces.parse();
  }

  override async arrayBuffer(): Promise<ArrayBuffer> {
    this.#leave();
    return super.arrayBuffer();
  }

  override async blob(): Promise<Blob> {
    this.#leave();
    return super.blob();
  }

  override clone(): Response {
    this.#leave();
    const copy = super.clone();
    return new DirectResponse(this.#url, copy, copy.body, undefined, this.#redirected);
  }

  /** Returns the body's source to the caller that reads the body now; undefined if it is left to the browser. */
  #take(): TextSource | undefined {
    const source = this.#leave();
    if (source !== undefined) this.#source = null;
    return source;
  }

  /** Leaves the body to the browser from now on, and returns the source that it had here. */
  #leave(): TextSource | undefined {
    const source = this.#source;
    if (source === null) throw new TypeError('The body was read already');
    this.#source = undefined;
    return source;
  }
}
