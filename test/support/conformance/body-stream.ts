import type { ByteStream, PlainResponse } from '../../../src/base/shared/message.ts';

/** Any body as a stream. */
export function toStream(body: PlainResponse['body']): ByteStream {
  if (body !== null && typeof body === 'object' && 'pull' in body) return body;
  let rest: Uint8Array | undefined = typeof body === 'string' ? new TextEncoder().encode(body) : (body ?? undefined);
  return {
    pull: async () => {
      const bytes = rest;
      rest = undefined;
      return bytes;
    },
    cancel: async () => {
      rest = undefined;
    },
  };
}
