import { JsonPieces } from './json-pieces.ts';

/** Text, or what gives it piece by piece when it is asked for. */
export type TextSource = string | { readText(take: (piece: string) => void): Promise<void> };

/**
 * A `Response` that knows its address, as those that come from a network do. Its text does not go the browser's own way, over bytes, which
 * takes longer than all that was before it.
 */
export class DirectResponse extends Response {
  readonly #url: string;
  readonly #redirected: boolean;
  /** As long as the body may be read here; null once it was, and undefined where the browser has it. */
  #source: TextSource | null | undefined;

  /** `source` is another way to the same body. Statuses that never have one (Fetch, 2.2.3) get none. */
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

  /** What the body can be read from here, once; undefined where the browser has it. */
  #take(): TextSource | undefined {
    const source = this.#leave();
    if (source !== undefined) this.#source = null;
    return source;
  }

  /** Leaves the body to the browser, and gives what it can be read from here. */
  #leave(): TextSource | undefined {
    const source = this.#source;
    if (source === null) throw new TypeError('The body was read already');
    this.#source = undefined;
    return source;
  }
}
