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
