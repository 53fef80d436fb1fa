/** Work that is in progress. */
interface Place {
  /** How often a look found it while others waited. */
  looks: number;
}

/** How often, while others wait, it looks which work takes long. */
const LOOK_MS = 250;
/** Work that was seen more often than this takes long. */
const MOST_LOOKS = 2;

/**
 * Carries out a limited amount of work of one kind at a time. Work beyond that waits: the owners of the work take turns, so that one owner
 * with hundreds of requests keeps no other one waiting. Work that is still in progress after others waited for 750 ms no longer counts.
 */
export class FairWork {
  readonly #most: number;
  readonly #underWay = new Set<Place>();
  /** By owner; the next one to be served is first. */
  readonly #waiting = new Map<string, ((place: Place) => void)[]>();
  #looking: ReturnType<typeof setTimeout> | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  async run<T>(work: () => Promise<T>, owner: string): Promise<T> {
    // Work that ends leaves its place to waiting work, so that nothing comes in between.
    const place =
      this.#underWay.size < this.#most && this.#waiting.size === 0 ? this.#newPlace() : await this.#wait(owner);
    try {
      return await work();
    } finally {
      this.#underWay.delete(place);
      this.#serve();
    }
  }

  #newPlace(): Place {
    const place = { looks: 0 };
    this.#underWay.add(place);
    return place;
  }

  #wait(owner: string): Promise<Place> {
    return new Promise((resolve) => {
      const queue = this.#waiting.get(owner);
      if (queue === undefined) this.#waiting.set(owner, [resolve]);
      else queue.push(resolve);
      this.#looking ??= setTimeout(() => this.#look(), LOOK_MS);
    });
  }

  #serve(): void {
    for (const [owner, queue] of this.#waiting) {
      if (this.#underWay.size >= this.#most) return;
      const next = queue.shift();
      // After all others.
      this.#waiting.delete(owner);
      if (queue.length > 0) this.#waiting.set(owner, queue);
      next?.(this.#newPlace());
    }
  }

  #look(): void {
    for (const place of this.#underWay) {
      place.looks += 1;
      if (place.looks > MOST_LOOKS) this.#underWay.delete(place);
    }
    this.#serve();
    this.#looking = this.#waiting.size === 0 ? undefined : setTimeout(() => this.#look(), LOOK_MS);
  }
}
