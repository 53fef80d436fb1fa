/**
 * Which transactions are committed explicitly (`IDBTransaction.commit`) in the turn that makes them. The browser then
 * finishes them also when their thread is frozen in the next moment, so that a successor is not held up:
 * - `all`: every read and every write;
 * - `appends`: reads, and writes of nothing but one journal record;
 * - `none`.
 */
export type EarlyCommits = 'all' | 'appends' | 'none';

/**
 * What a browser can take. Not in WebKit: a transaction of a worker that ends before it began stays open for as long as
 * its process lives, and committing early doubles how often that happens (in 40 closings or reloads of a tab that writes
 * without a pause, 7 times instead of 3 to 4, WebKitGTK 2.50). Firefox rolls an early committed transaction back only
 * where its last request is one that fails (ESR 153), so a write of several requests could be stored in part. To be removed
 * once neither happens.
 */
export function earlyCommitsFor(userAgent: string | undefined): EarlyCommits {
  if (userAgent === undefined || /Chrom(e|ium)\//.test(userAgent)) return 'all';
  if (/Firefox\//.test(userAgent)) return 'appends';
  return /AppleWebKit/.test(userAgent) ? 'none' : 'all';
}
