/** Whether a URL is at that prefix or below it, by whole segments of its path. Both are absolute, as the URL parser writes them. */
export function isAtOrBelow(url: string, prefix: string): boolean {
  const base = prefix.replace(/\/+$/, '');
  return url === base || url.startsWith(`${base}/`);
}
