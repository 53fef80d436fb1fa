/** Bodies for requests that are forwarded. */
import type { ByteStream, PlainRequest, PlainResponse } from '../../../../src/base/shared/message.ts';

/** An endless stream that counts what was pulled, and whether it was cancelled. */
export class Endless implements ByteStream {
  pulled = 0;
  readonly cancelled: Promise<void>;
  #cancel: () => void = () => undefined;

  constructor() {
    this.cancelled = new Promise((resolve) => {
      this.#cancel = resolve;
    });
  }

  async pull(): Promise<Uint8Array> {
    this.pulled += 16_384;
    return new Uint8Array(16_384);
  }

  async cancel(): Promise<void> {
    this.#cancel();
  }
}

export function textStream(parts: readonly (string | Error)[], trailers?: Record<string, string>): ByteStream {
  const rest = [...parts];
  return {
    ...(trailers && { trailers }),
    pull: async () => {
      const part = rest.shift();
      if (part instanceof Error) throw part;
      return part === undefined ? undefined : Buffer.from(part);
    },
    cancel: async () => undefined,
  };
}

export async function collect(body: PlainRequest['body'] | PlainResponse['body']): Promise<string> {
  if (body === null || typeof body === 'string' || body instanceof Blob) throw new Error('not bytes');
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  const chunks: Uint8Array[] = [];
  for (let chunk = await body.pull(); chunk !== undefined; chunk = await body.pull()) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
