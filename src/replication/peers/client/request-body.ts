/** What is sent to a peer: texts, compressed where that is worth it and the peer takes them so, and bodies that are made while they are sent. */
import type { Watchdog } from './watchdog.ts';

/** A body that is made while it is sent. */
export interface StreamedBody {
  readonly type: string;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Servers of the family whose requests may be compressed, as they name themselves. */
const TAKES_GZIP = /^(Settee|CouchDB)\//i;
const SHORTEST_COMPRESSED = 2_048;

/** Whether the peer takes compressed requests: known from its answers. */
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

/** The chunks, of which each that is asked for is a sign of life of whoever asks. While one is being made nobody else is waited for. */
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
