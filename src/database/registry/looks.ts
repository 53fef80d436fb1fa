/** For how long no look at the files of other processes has succeeded: what is read of them may be so old. */
export class Looks {
  /** When the first look began after the last one that has succeeded; undefined if the last one has. */
  #since: number | undefined;

  readonly add = (look: Promise<unknown>): void => {
    this.#since ??= performance.now();
    look.then(
      () => {
        this.#since = undefined;
      },
      () => undefined,
    );
  };

  /** In milliseconds; 0 if the last one has succeeded. */
  get lagMs(): number {
    return this.#since === undefined ? 0 : performance.now() - this.#since;
  }
}
