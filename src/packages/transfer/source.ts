/** The source of an import: decompressed, and counted as it is read. */

interface Source {
  readonly stream: ReadableStream<Uint8Array>;
  /** Bytes read of the source itself, and how many it has, if it says so. */
  progress(): { readonly bytes: number; readonly total?: number };
}

/** Decompresses a source that begins like gzip: no JSON begins so. */
export async function openSource(source: Blob | ReadableStream<Uint8Array>): Promise<Source> {
  const total = source instanceof Blob ? { total: source.size } : {};
  const given = source instanceof Blob ? source.stream() : source;
  let bytes = 0;
  const reader = given.getReader();
  const first = await reader.read();
  let pending: typeof first | undefined = first;
  const counted = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      pull: async (controller) => {
        const { done, value } = pending ?? (await reader.read());
        pending = undefined;
        if (done) return controller.close();
        bytes += value.length;
        controller.enqueue(new Uint8Array(value));
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  const isGzip = first.value?.[0] === 0x1f && (first.value[1] ?? 0x8b) === 0x8b;
  const stream = isGzip ? counted.pipeThrough(new DecompressionStream('gzip')) : counted;
  return { stream, progress: () => ({ bytes, ...total }) };
}
