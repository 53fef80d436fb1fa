/**
 * Which transactions are told to commit in the turn that makes them. The browser then finishes them also when their
 * thread is frozen in the next moment, so that a successor is not held up:
 * - `all`: every read and every write;
 * - `appends`: reads, and writes of nothing but one journal record;
 * - `none`.
 */
export type CommitsAtOnce = 'all' | 'appends' | 'none';

/**
 * What the browser may be told. WebKit must not be: a transaction of a worker that ends before it began stays open for
 * as long as its process lives, and telling it to commit at once doubles how often that happens (in 40 closings or
 * reloads of a tab that writes without a pause, 7 times instead of 3 to 4, WebKitGTK 2.50). Firefox takes a transaction
 * back that was told to commit only where its last request is one that fails (ESR 153), so a write of several requests
 * could be stored in part. To be removed once neither happens.
 */
export function commitsAtOnceOf(userAgent: string | undefined): CommitsAtOnce {
  if (userAgent === undefined || /Chrom(e|ium)\//.test(userAgent)) return 'all';
  if (/Firefox\//.test(userAgent)) return 'appends';
  return /AppleWebKit/.test(userAgent) ? 'none' : 'all';
}
