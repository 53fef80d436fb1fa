/**
 * Samples of what the service counts about itself (docs/http/server.md#statistics). They are taken when the first request arrives after the end of
 * their interval, so that a service without requests does nothing.
 */
import { DatabaseError } from '../errors/database-error.ts';
import type { Clock } from '../shared/clock.ts';
import { positiveSetting, settingRefusal } from './config.ts';
import type { Config, ConfigStore } from './contract.ts';
import { type Counters, type Gauges, listStatistics, type Statistic } from './counters.ts';

const DEFAULT_SAMPLE_RATE_MS = 1_000;
/** Maximum number of samples kept for each statistic. */
const MAX_SAMPLES = 3_600;

/** Returns how often samples of statistics are taken. */
function sampleRateMs(config: Config): number {
  return positiveSetting(config, 'stats', 'rate') ?? DEFAULT_SAMPLE_RATE_MS;
}

/**
 * Returns the time windows for which statistics are shown, in seconds; 0 means all the time. Fails with `bad_request` if the setting is not a
 * JSON list of whole numbers, and on too many samples.
 */
export function sampleWindows(config: Config): readonly number[] {
  const text = config.get('stats', 'samples') ?? '[0]';
  const windows = parseNumbers(text);
  if (windows !== undefined && (Math.max(...windows) * 1_000) / sampleRateMs(config) <= MAX_SAMPLES) return windows;
  const rule = `a list of seconds, such as [0, 60, 300, 900], each no longer than ${MAX_SAMPLES} times stats/rate`;
  throw settingRefusal('stats/samples', text, rule);
}

function parseNumbers(text: string): readonly number[] | undefined {
  if (!/^\[\s*\d{1,9}(\s*,\s*\d{1,9}){0,31}\s*\]$/.test(text)) return undefined;
  return text.slice(1, -1).split(',').map(Number);
}

/** A statistic as it is shown. */
export interface ShownStatistic extends Summary {
  readonly statistic: Statistic;
  readonly current: number;
}

export class Statistics {
  readonly counters: Counters;
  readonly list: readonly Statistic[];
  readonly #clock: Clock;
  readonly #config: Config;
  #sampled: readonly SampledStatistic[] = [];
  #rateMs = 0;
  /** The end of the last interval, by the monotonic clock. */
  #sampledAt = 0;
  #nextAt = 0;
  readonly #openedAt: number;

  constructor(clock: Clock, config: ConfigStore, counters: Counters, gauges: Gauges) {
    this.counters = counters;
    this.#clock = clock;
    this.#openedAt = clock.monotonic();
    this.#config = config;
    this.list = listStatistics(counters, gauges);
    this.#begin();
    config.onChange(({ section }) => {
      if (section === 'stats') this.#begin();
    });
  }

  /** Milliseconds since the service was opened, by the monotonic clock. */
  get uptimeMs(): number {
    return this.#clock.monotonic() - this.#openedAt;
  }

  /** Notes a request at that time of the monotonic clock. */
  noteRequest(method: string, now: number): void {
    if (now >= this.#nextAt) this.#sample(now);
    this.counters.requests.value += 1;
    const counter = this.counters.methods.get(method);
    if (counter !== undefined) counter.value += 1;
  }

  /** Notes an answered request. */
  noteAnswer(status: number, milliseconds: number): void {
    this.counters.answers.value += 1;
    this.counters.answerMs.value += milliseconds;
    const counter = this.counters.statuses.get(status);
    if (counter !== undefined) counter.value += 1;
  }

  /** Ends the current interval, so that all that was counted is in the samples. */
  flush(): void {
    const now = this.#clock.monotonic();
    if (now >= this.#nextAt) this.#sample(now);
    for (const sampled of this.#sampled) sampled.push(0);
    this.#sampledAt = now;
    this.#nextAt = now + this.#rateMs;
  }

  /** Returns the statistics of the last `seconds`; 0: since the service was opened. Fails with `bad_request` if `stats/samples` does not list it. */
  show(seconds: number): readonly ShownStatistic[] {
    const windows = sampleWindows(this.#config);
    if (!windows.includes(seconds)) {
      throw new DatabaseError('bad_request', `range is "${seconds}"; it must be one of ${windows.join(', ')}.`);
    }
    const now = this.#clock.monotonic();
    if (now >= this.#nextAt) this.#sample(now);
    const samples = Math.ceil((seconds * 1_000) / this.#rateMs);
    return this.#sampled.map((sampled) => sampled.show(samples));
  }

  /** Starts again with the current settings. */
  #begin(): void {
    this.#rateMs = sampleRateMs(this.#config);
    const longest = Math.max(...sampleWindows(this.#config));
    const capacity = Math.ceil((longest * 1_000) / this.#rateMs);
    this.#sampled = this.list.map((statistic) => new SampledStatistic(statistic, capacity));
    this.#sampledAt = this.#clock.monotonic();
    this.#nextAt = this.#sampledAt + this.#rateMs;
  }

  /** Takes the samples of the intervals that have ended. All counts belong to the first of them: no request has come since. */
  #sample(now: number): void {
    const intervals = Math.max(1, Math.floor((now - this.#sampledAt) / this.#rateMs));
    for (const sampled of this.#sampled) sampled.push(intervals - 1);
    this.#sampledAt += intervals * this.#rateMs;
    this.#nextAt = this.#sampledAt + this.#rateMs;
  }
}

class SampledStatistic {
  readonly #statistic: Statistic;
  readonly #series: SampleSeries;
  /** The value that was read for the last sample. */
  #before: number;
  #countBefore: number;

  constructor(statistic: Statistic, capacity: number) {
    this.#statistic = statistic;
    this.#series = new SampleSeries(capacity);
    this.#before = statistic.read();
    this.#countBefore = statistic.readCount?.() ?? 0;
  }

  /** Adds the sample of an interval, and of `further` intervals without events. */
  push(further: number): void {
    const { kind, read, readCount } = this.#statistic;
    const value = read();
    const came = value - this.#before;
    this.#before = value;
    if (kind === 'count') this.#series.push(came, 0, further);
    else if (kind === 'gauge') this.#series.push(value, value, further);
    else {
      const count = readCount?.() ?? 0;
      const added = count - this.#countBefore;
      this.#countBefore = count;
      this.#series.push(added === 0 ? Number.NaN : came / added, Number.NaN, further);
    }
  }

  /** Returns the statistic of the latest samples; 0: of all. */
  show(samples: number): ShownStatistic {
    const statistic = this.#statistic;
    const summary = samples === 0 ? this.#series.total() : this.#series.latest(samples);
    if (statistic.kind !== 'gauge') return { statistic, ...summary, current: summary.sum };
    const current = statistic.read();
    return { statistic, ...summary, sum: current, current };
  }
}

interface Summary {
  readonly sum: number;
  readonly mean: number;
  /** Standard deviation of the population. */
  readonly stddev: number;
  readonly min: number;
  readonly max: number;
}

/**
 * The samples of one statistic, one taken at the end of each interval. All samples are kept as sums, and the latest ones
 * individually, for time windows. Until a sample other than 0 comes, only their number is kept.
 */
export class SampleSeries {
  readonly #capacity: number;
  readonly #sums = new RunningSums();
  /** The latest samples, in a ring; NaN if there was nothing to sample. */
  #ring: Float64Array | undefined;
  #next = 0;
  /** Intervals that have passed. */
  #count = 0;

  /** `capacity`: how many of the latest samples are kept individually. */
  constructor(capacity: number) {
    this.#capacity = Math.max(1, capacity);
  }

  /** Adds the sample of an interval, then `filler` for `further` more intervals. NaN: there was nothing to sample. */
  push(sample: number, filler: number, further: number): void {
    this.#sums.add(sample, 1);
    this.#sums.add(filler, further);
    if (this.#ring === undefined && (sample !== 0 || (filler !== 0 && further > 0))) {
      this.#ring = new Float64Array(this.#capacity);
    }
    this.#keep(sample);
    for (let left = Math.min(further, this.#capacity); left > 0; left--) this.#keep(filler);
    this.#count += 1 + further;
  }

  /** Summarizes all samples since the beginning. */
  total(): Summary {
    return this.#sums.summary();
  }

  /** Summarizes the latest samples, or as many as there are. */
  latest(samples: number): Summary {
    const sums = new RunningSums();
    const wanted = Math.min(samples, this.#count, this.#capacity);
    if (this.#ring === undefined) sums.add(0, wanted);
    else {
      for (let back = 1; back <= wanted; back++) {
        sums.add(this.#ring[(this.#next - back + this.#capacity) % this.#capacity] ?? 0, 1);
      }
    }
    return sums.summary();
  }

  #keep(sample: number): void {
    if (this.#ring === undefined) return;
    this.#ring[this.#next] = sample;
    this.#next = (this.#next + 1) % this.#capacity;
  }
}

/** Sums and their spread, without keeping what was summed (B. P. Welford, Technometrics 4, 1962). */
class RunningSums {
  #count = 0;
  #sum = 0;
  #mean = 0;
  #squares = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;

  /** Adds the same value `times` times. */
  add(value: number, times: number): void {
    if (times <= 0 || Number.isNaN(value)) return;
    const count = this.#count + times;
    const distance = value - this.#mean;
    this.#squares += (distance * distance * this.#count * times) / count;
    this.#mean += (distance * times) / count;
    this.#count = count;
    this.#sum += value * times;
    this.#min = Math.min(this.#min, value);
    this.#max = Math.max(this.#max, value);
  }

  summary(): Summary {
    if (this.#count === 0) return { sum: 0, mean: 0, stddev: 0, min: 0, max: 0 };
    const stddev = Math.sqrt(this.#squares / this.#count);
    return { sum: this.#sum, mean: this.#mean, stddev, min: this.#min, max: this.#max };
  }
}
