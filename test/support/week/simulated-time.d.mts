/** See `simulated-time.mjs`, which a server's process loads as it is. */
export interface SimulatedTime {
  readonly aheadMs: number;
  advance(ms: number): void;
  restore(): void;
}

export function simulateTime(aheadMs?: number): SimulatedTime;
