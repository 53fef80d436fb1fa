/** From this size on, freeing the memory costs less than leaving it. */
const LARGE_BYTES = 16_384;

/**
 * Takes chunks that are no longer read, and frees their memory at once. Chromium's collector would do so only when a thread has 64 MB
 * of them, since it sees only a small object for each chunk. Memory that moves into a port leaves this thread, and a port without another side
 * drops it. `ArrayBuffer.prototype.transfer` does not help: Chromium keeps the memory of what came in a message until the object is
 * collected, and no longer counts it, so that nothing bounds it.
 */
export class SpentChunks {
  readonly #port: MessagePort;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    port2.close();
    this.#port = port1;
  }

  drop({ buffer }: Uint8Array): void {
    if (buffer instanceof ArrayBuffer && buffer.byteLength >= LARGE_BYTES) this.#port.postMessage(undefined, [buffer]);
  }
}
