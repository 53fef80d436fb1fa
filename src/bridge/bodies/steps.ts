import type { BodyStep } from '../wire/wire.ts';

/**
 * Carries the steps of one body between its two sides, in order: a MessagePort, or a name on a BroadcastChannel. Whoever gets `end`,
 * `fail` or `cancel`, or sends one, closes its side.
 */
export interface StepPipe {
  send(step: BodyStep): void;
  /** Called with every step of the other side, from the moment it is set; steps that came before are kept for it. */
  listen(listener: (step: BodyStep) => void): void;
  close(): void;
}

/** From here on to move bytes costs less than to have them copied. */
const MOVED_BYTES = 16_384;

/**
 * The step with what is to be transferred with it. Bytes that are posted stay with the message event until the receiver's garbage is
 * collected, of which Chromium sees little reason: tens of megabytes of a long body. Bytes that are moved go with the chunk. What moves is
 * a copy, since the maker's own may belong to something that goes on.
 */
export function toMovable(step: BodyStep): { readonly step: BodyStep; readonly transfer: ArrayBuffer[] } {
  if (step.step !== 'chunk' || step.bytes.length < MOVED_BYTES) return { step, transfer: [] };
  const bytes = new Uint8Array(step.bytes);
  return { step: { step: 'chunk', bytes }, transfer: [bytes.buffer] };
}
