/** From here on to give the memory back costs less than to leave it. */
const LARGE_BYTES = 16_384;

/**
 * Takes chunks that nobody reads any more, and gives their memory back at once. Chromium's collector would do so only when a thread has 64 MB
 * of them, since all that it sees of a chunk is a small object. Memory that moves into a port leaves this thread, and one without another side
 * drops it there. `ArrayBuffer.prototype.transfer` is of no use: Chromium keeps the memory of what came in a message until the object is
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
