/**
 * Which transactions are committed explicitly (`IDBTransaction.commit`) in the turn that makes them. The browser then
 * finishes them even if their thread freezes right afterwards, so that a successor is not delayed:
 * - `all`: every read and every write;
 * - `appends`: reads, and writes of nothing but one journal record;
 * - `none`.
 */
export type EarlyCommits = 'all' | 'appends' | 'none';

/**
 * Returns what a browser supports. None in WebKit: the transaction of a worker that ends before the transaction began stays open as long as
 * its process lives, and committing early doubles how often that happens (in 40 closings or reloads of a tab that writes
 * without a pause: 7 times instead of 3 to 4, WebKitGTK 2.50). Firefox rolls an early committed transaction back only
 * if its last request fails (ESR 153), so a write of several requests could be stored in part. To be removed
 * once neither bug occurs.
 */
export function earlyCommitsFor(userAgent: string | undefined): EarlyCommits {
  if (userAgent === undefined || /Chrom(e|ium)\//.test(userAgent)) return 'all';
  if (/Firefox\//.test(userAgent)) return 'appends';
  return /AppleWebKit/.test(userAgent) ? 'none' : 'all';
}
