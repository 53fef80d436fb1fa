/**
 * Whether the browser finishes a transaction that was told to commit although its worker ends at once. WebKit doesn't: a
 * transaction of a worker that ends before it began stays open for as long as its process lives, and holds up all others.
 * Telling it to commit at once doubles how often that happens: in 40 closings or reloads of a tab that writes without a
 * pause, 7 times instead of 3 to 4 (WebKitGTK 2.50). To be removed once it no longer happens at all.
 */
export function finishesCommits(userAgent: string | undefined): boolean {
  if (userAgent === undefined) return true;
  return !userAgent.includes('AppleWebKit') || /Chrom(e|ium)\//.test(userAgent);
}
