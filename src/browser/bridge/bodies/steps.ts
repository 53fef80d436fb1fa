import type { BodyStep } from '../wire/wire.ts';

/**
 * Carries the steps of one body between its two sides, in order: a MessagePort, or a name on a BroadcastChannel. A side that receives or sends
 * `end`, `fail` or `cancel` closes.
 */
export interface StepPipe {
  /** `isMovable`: no one else uses the bytes of a chunk (`ByteStream`). */
  send(step: BodyStep, isMovable?: boolean): void;
  /** Called with every step of the other side, from the moment it is set; earlier steps are kept for it. */
  listen(listener: (step: BodyStep) => void): void;
  close(): void;
}

/** From this size on, moving bytes costs less than having them copied. */
const MOVED_BYTES = 16_384;

/**
 * The step with the buffers to transfer with it. Bytes that are posted stay with the message event until the receiver's garbage is
 * collected, and the sender's own stay until its garbage is, which Chromium does rarely: 64 MB of a long body in each thread. Bytes
 * that are moved go with the chunk. A copy is moved if the sender's bytes may be part of a larger buffer.
 */
export function toMovable(
  step: BodyStep,
  isMovable: boolean,
): { readonly step: BodyStep; readonly transfer: ArrayBuffer[] } {
  if (step.step !== 'chunk' || step.bytes.length < MOVED_BYTES) return { step, transfer: [] };
  const { bytes } = step;
  if (isMovable && isWhole(bytes)) return { step, transfer: [bytes.buffer] };
  const copy = new Uint8Array(bytes);
  return { step: { step: 'chunk', bytes: copy }, transfer: [copy.buffer] };
}

function isWhole(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer && bytes.length === bytes.buffer.byteLength;
}
