/** Bodies sent to a peer: texts, compressed if that is worth it and the peer accepts that, and streamed bodies. */
import type { Watchdog } from './watchdog.ts';

/** A body that is produced while it is sent. */
export interface StreamedBody {
  readonly type: string;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** The `Server` names of family servers that accept compressed requests. */
const TAKES_GZIP = /^(Settee|CouchDB)\//i;
const SHORTEST_COMPRESSED = 2_048;

/** Whether the peer accepts compressed requests: known from its responses. */
export class CompressionUse {
  readonly #isWorthIt: boolean;
  #takesGzip = false;
  #hasRefused = false;

  constructor(isSlow: boolean) {
    this.#isWorthIt = isSlow && typeof CompressionStream === 'function';
  }

  appliesTo(text: string): boolean {
    return this.#isWorthIt && this.#takesGzip && text.length >= SHORTEST_COMPRESSED;
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

/** Yields the chunks; each request for one is a sign of life of the reader. While a chunk is being produced the watchdog pauses. */
export async function* underWatch(
  chunks: AsyncIterable<Uint8Array>,
  watchdog: Watchdog,
): AsyncGenerator<Uint8Array, void, void> {
  watchdog.pause();
  for await (const chunk of chunks) {
    watchdog.sign();
    yield chunk;
    watchdog.pause();
  }
  watchdog.sign();
}
