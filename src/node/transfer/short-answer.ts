/** Short responses, as text. A response that is longer, or has no end, is not read on: a server is not trusted to send little. */
import type { IncomingMessage } from 'node:http';

/** How long it waits for the end of what it reads. */
const MAX_WAIT_MS = 10_000;

export interface ShortAnswer {
  /** Only its beginning if it was longer, or did not end in time. */
  readonly text: string;
  readonly isWhole: boolean;
}

export interface ShortOptions {
  /** In bytes. */
  readonly longest: number;
  /** The beginning is also useful: the wait for it is 10 seconds at most. Default: false. */
  readonly isBeginningOfUse?: boolean;
}

interface Source {
  pull(): Promise<Uint8Array | undefined>;
  /** Also ends a wait. */
  cancel(): void;
}

/** Fails like reading the body. */
export function shortAnswer(response: Response, options: ShortOptions): Promise<ShortAnswer> {
  const reader = response.body?.getReader();
  return read(
    {
      pull: async () => (await reader?.read())?.value,
      cancel: () => void reader?.cancel().catch(() => undefined),
    },
    options,
  );
}

/** Works as `shortAnswer`. */
export function shortMessage(message: IncomingMessage, options: ShortOptions): Promise<ShortAnswer> {
  const chunks: AsyncIterator<Uint8Array> = message[Symbol.asyncIterator]();
  return read(
    {
      pull: async () => {
        const step = await chunks.next();
        return step.done === true ? undefined : step.value;
      },
      cancel: () => void message.destroy(),
    },
    options,
  );
}

async function read(source: Source, { longest, isBeginningOfUse = false }: ShortOptions): Promise<ShortAnswer> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const isLate = new Promise<'late'>((resolve) => {
    if (isBeginningOfUse) timer = setTimeout(() => resolve('late'), MAX_WAIT_MS);
  });
  const chunks: Uint8Array[] = [];
  let length = 0;
  const textOf = () => new TextDecoder().decode(Buffer.concat(chunks));
  try {
    for (;;) {
      const pulled = source.pull();
      // What it returns after the end is ignored.
      pulled.catch(() => undefined);
      const chunk = await Promise.race([pulled, isLate]);
      if (chunk === undefined) return { text: textOf(), isWhole: true };
      if (chunk !== 'late') {
        chunks.push(chunk);
        length += chunk.length;
        if (length <= longest) continue;
      }
      source.cancel();
      return { text: textOf(), isWhole: false };
    }
  } finally {
    clearTimeout(timer);
  }
}
