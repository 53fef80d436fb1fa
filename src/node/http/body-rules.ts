import { DatabaseError } from '../../base/errors/database-error.ts';
import type { ByteLease } from '../../base/shared/byte-budget.ts';

/** The rules for bodies that arrive over the network. */
export interface BodyRules {
  /** The minimum rate of a body in bytes per second; 0: no such rate. Default: 0. */
  readonly leastRate?: (() => number) | undefined;
  /** Counts the bytes of a body that have arrived while it is collected. Default: not counted. */
  readonly lease?: (() => ByteLease | undefined) | undefined;
  /** Called before a body is refused in its middle: nothing more should be read from the connection. */
  readonly onSilence?: (() => void) | undefined;
}

/** The same bytes as a plain `Uint8Array`: its `slice` copies, while that of a Buffer does not. */
export function toBytes(chunk: Buffer): Uint8Array {
  return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length);
}

export function interrupted(received: number, cause?: Error): DatabaseError {
  const why = cause ? ` (${cause.message})` : '';
  return new DatabaseError('cancelled', `The request body ended after ${received} bytes, before its end${why}.`, {
    cause,
  });
}
