/** What is polled, kept for graphs. */
import { useEffect, useState } from 'preact/hooks';

export interface Sample {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly figures: Readonly<Record<string, number | undefined>>;
}

/** Samples that a graph shows at most. */
const MOST = 300;

/** Keeps the figures of each new value, oldest first, until the component goes. */
export function useSamples<T extends object>(
  value: T | undefined,
  figuresOf: (value: T) => Sample['figures'],
): readonly Sample[] {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEffect(() => {
    if (value === undefined) return;
    const sample = { at: Date.now(), figures: figuresOf(value) };
    setSamples((former) => [...former.slice(1 - MOST), sample]);
  }, [value]);
  return samples;
}

/** Seconds since the epoch. */
export function timesOf(samples: readonly Sample[]): readonly number[] {
  return samples.map(({ at }) => at / 1000);
}

export function valuesOf(samples: readonly Sample[], name: string): readonly (number | null)[] {
  return samples.map(({ figures }) => figures[name] ?? null);
}

/** How much a counter rises in a second. Null for the first sample, and where the counter began again. */
export function ratesOf(samples: readonly Sample[], name: string): readonly (number | null)[] {
  return samples.map((sample, index) => {
    const former = samples[index - 1];
    const [from, to] = [former?.figures[name], sample.figures[name]];
    if (former === undefined || from === undefined || to === undefined || to < from) return null;
    return Math.round(((to - from) * 10_000) / Math.max(1, sample.at - former.at)) / 10;
  });
}
