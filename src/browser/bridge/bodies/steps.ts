import type { BodyStep } from '../wire/wire.ts';

/**
 * Carries the steps of one body between its two sides, in order: a MessagePort, or a name on a BroadcastChannel. Whoever gets `end`,
 * `fail` or `cancel`, or sends one, closes its side.
 */
export interface StepPipe {
  /** `isMovable`: the bytes of a chunk are nobody else's (`ByteStream`). */
  send(step: BodyStep, isMovable?: boolean): void;
  /** Called with every step of the other side, from the moment it is set; steps that came before are kept for it. */
  listen(listener: (step: BodyStep) => void): void;
  close(): void;
}

/** From here on to move bytes costs less than to have them copied. */
const MOVED_BYTES = 16_384;

/**
 * The step with what is to be transferred with it. Bytes that are posted stay with the message event until the receiver's garbage is
 * collected, and the sender's own stay until that one's is, of which Chromium sees little reason: 64 MB of a long body in each thread. Bytes
 * that are moved go with the chunk. What moves is a copy where the sender's own may belong to something that goes on.
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
