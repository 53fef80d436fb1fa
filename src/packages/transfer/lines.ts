/** Bytes to lines of text, and pieces of text to bytes. */

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
export function toStream(pieces: AsyncGenerator<string, void, void>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      pull: async (controller) => {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      cancel: async () => {
        await pieces.return();
      },
    },
    { highWaterMark: 0 },
  );
}
