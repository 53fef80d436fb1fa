/** Jobs in the order in which they came, in which owners take turns: one that has many does not keep the others waiting. */
export class JobQueue<O extends object, J> {
  /** The first owner is the next one. Every owner has jobs. */
  readonly #jobs = new Map<O, J[]>();

  get isEmpty(): boolean {
    return this.#jobs.size === 0;
  }

  add(owner: O, job: J): void {
    const jobs = this.#jobs.get(owner);
    if (jobs === undefined) this.#jobs.set(owner, [job]);
    else jobs.push(job);
  }

  /** Adds a job before the owner's other jobs. */
  addFirst(owner: O, job: J): void {
    const jobs = this.#jobs.get(owner);
    if (jobs === undefined) this.#jobs.set(owner, [job]);
    else jobs.unshift(job);
  }

  /** Takes the first job of the first owner for which there is a place. */
  take(hasPlace: (owner: O) => boolean): { readonly owner: O; readonly job: J } | undefined {
    for (const [owner, jobs] of this.#jobs) {
      const [job] = jobs;
      if (job === undefined || !hasPlace(owner)) continue;
      jobs.shift();
      this.#jobs.delete(owner);
      if (jobs.length > 0) this.#jobs.set(owner, jobs);
      return { owner, job };
    }
    return undefined;
  }

  /** Takes all jobs; the queue is then empty. */
  takeAll(): J[] {
    const all = [...this.#jobs.values()].flat();
    this.#jobs.clear();
    return all;
  }
}
