/** When requests to a peer are compressed. */

/** The `Server` names of family servers that accept compressed requests. */
const TAKES_GZIP = /^(Settee|CouchDB)\//i;
const MIN_COMPRESSED_LENGTH = 2_048;

/** Whether the peer accepts compressed requests: known from its responses. */
export class CompressionUse {
  readonly #isWorthIt: boolean;
  #takesGzip = false;
  #hasRefused = false;

  constructor(isSlow: boolean) {
    this.#isWorthIt = isSlow && typeof CompressionStream === 'function';
  }

  appliesTo(text: string): boolean {
    return this.#isWorthIt && this.#takesGzip && text.length >= MIN_COMPRESSED_LENGTH;
  }

  noteServer(server: string | undefined): void {
    this.#takesGzip ||= !this.#hasRefused && server !== undefined && TAKES_GZIP.test(server);
  }

  refused(): void {
    this.#hasRefused = true;
    this.#takesGzip = false;
  }
}

export async function compress(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
