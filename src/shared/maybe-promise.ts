/** A value that is there at once where the host can give it so (a cache, LMDB), else a promise of it. */
export type MaybePromise<T> = T | Promise<T>;
