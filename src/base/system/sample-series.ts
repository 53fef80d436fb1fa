/**
 * The samples of one statistic, one taken at the end of each interval. All samples are kept as sums, and the latest ones
 * individually, for time windows. Until a sample other than 0 comes, only their number is kept.
 */
export interface Summary {
  readonly sum: number;
  readonly mean: number;
  /** Standard deviation of the population. */
  readonly stddev: number;
  readonly min: number;
  readonly max: number;
}

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
