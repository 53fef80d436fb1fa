/** Bytes to lines of text and back, piece by piece. */

/** Characters that are collected before they are passed on. */
const PIECE_LENGTH = 64 * 1024;

/** Returns lines without their ends. Cancels the stream if its reader stops early. Fails for bytes that are not UTF-8. */
export async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader = stream.getReader();
  // A line may come in many pieces, which are joined once.
  let begun: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const [first = '', ...others] = decoder.decode(value, { stream: !done }).split('\n');
      begun.push(first);
      for (const next of others) {
        yield begun.join('');
        begun = [next];
      }
      if (done) break;
    }
    yield begun.join('');
  } finally {
    await reader.cancel();
  }
}

/** Requests nothing from the source before it is read. */
export function toStream(texts: AsyncGenerator<string, void, void>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      pull: async (controller) => {
        let piece = '';
        while (piece.length < PIECE_LENGTH) {
          const { done, value } = await texts.next();
          if (done) {
            if (piece !== '') controller.enqueue(encoder.encode(piece));
            controller.close();
            return;
          }
          piece += value;
        }
        controller.enqueue(encoder.encode(piece));
      },
      cancel: async () => {
        await texts.return();
      },
    },
    { highWaterMark: 0 },
  );
}
