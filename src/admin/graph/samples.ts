/** Samples of polled figures, which graphs draw. */
import { useEffect, useState } from 'preact/hooks';

export interface Sample {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly figures: Readonly<Record<string, number | undefined>>;
}

/** Samples of a graph. */
const MAX_SAMPLES = 300;

/** The samples of each graph by its name, also while it is not in sight. The graphs with the newest samples are last. */
const kept = new Map<string, readonly Sample[]>();
const MAX_GRAPHS = 20;

/**
 * Keeps the figures of each new value, oldest first. They stay when the component goes, for the next one of the same name: what is known is
 * drawn at once.
 */
export function useSamples<T extends object>(
  name: string,
  value: T | undefined,
  figuresOf: (value: T) => Sample['figures'],
): readonly Sample[] {
  const [samples, setSamples] = useState<readonly Sample[]>(kept.get(name) ?? []);
  useEffect(() => {
    if (value === undefined) return;
    const sample = { at: Date.now(), figures: figuresOf(value) };
    const next = [...(kept.get(name) ?? []).slice(1 - MAX_SAMPLES), sample];
    kept.delete(name);
    kept.set(name, next);
    const [oldest] = kept.keys();
    if (kept.size > MAX_GRAPHS && oldest !== undefined) kept.delete(oldest);
    setSamples(next);
  }, [name, value]);
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
