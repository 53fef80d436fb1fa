/** Inflates gzip with the platform's own streams, and limits the output: 64 KB can hold 64 MB. */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import type { Collector } from './byte-collector.ts';

/** Fails as the collector does, and with `bad_request` if the bytes are not complete gzip. */
export async function inflate(packed: readonly Uint8Array[], collector: Collector): Promise<void> {
  const inflated = new Blob([...packed] as Uint8Array<ArrayBuffer>[])
    .stream()
    .pipeThrough(new DecompressionStream('gzip'));
  const reader = inflated.getReader();
  const timeSlice = new TimeSlice();
  try {
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      await collector.add(step.value);
      if (timeSlice.isDue) await timeSlice.rest();
    }
  } catch (cause) {
    // The unread stream stops, and is freed. Cancelling it could end the process: Node 20 then passes on what was inflated already, and throws.
    throw cause instanceof DatabaseError
      ? cause
      : new DatabaseError('bad_request', 'The request body is not valid gzip data.', { cause });
  }
}
