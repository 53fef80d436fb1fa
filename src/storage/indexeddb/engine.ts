/**
 * Whether the browser finishes a transaction that was told to commit although its worker ends at once. WebKit doesn't: a
 * transaction of a worker that ends before it began stays open for as long as its process lives, and holds up all others.
 * Telling it to commit at once doubles how often that happens: in 40 closings or reloads of a tab that writes without a
 * pause, 7 times instead of 3 to 4 (WebKitGTK 2.50). Firefox must not be told either: where a request fails after that, it
 * reports no ConstraintError, and a commit of a fenced owner may get through (ESR 153). To be removed once neither happens.
 */
export function finishesCommits(userAgent: string | undefined): boolean {
  if (userAgent === undefined) return true;
  return !/AppleWebKit|Firefox/.test(userAgent) || /Chrom(e|ium)\//.test(userAgent);
}
