/** Answers that are short, as text. One that is not, or has no end, is not read on: what comes from a server is not believed to be small. */
import type { IncomingMessage } from 'node:http';

/** How long the end of what is read is waited for. */
const LONGEST_WAIT_MS = 10_000;

export interface ShortAnswer {
  /** Its beginning where it was longer, or did not come to its end in time. */
  readonly text: string;
  readonly isWhole: boolean;
}

export interface ShortOptions {
  /** In bytes. */
  readonly longest: number;
  /** The beginning is of use, too: it is waited for 10 seconds at most. False by default. */
  readonly isBeginningOfUse?: boolean;
}

interface Source {
  pull(): Promise<Uint8Array | undefined>;
  /** Ends a wait, too. */
  cancel(): void;
}

/** Fails as reading the body does. */
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

/** As `shortAnswer`. */
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
    if (isBeginningOfUse) timer = setTimeout(() => resolve('late'), LONGEST_WAIT_MS);
  });
  const chunks: Uint8Array[] = [];
  let length = 0;
  const textOf = () => new TextDecoder().decode(Buffer.concat(chunks));
  try {
    for (;;) {
      const pulled = source.pull();
      // What it comes to after the end concerns nobody.
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
