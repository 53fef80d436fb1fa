/**
 * A page that is left may be kept in the back/forward cache, where its connections are cut: they end with the page, and start over with one that
 * comes back.
 */
export function followPage(signal: AbortSignal, onLeave: () => void, onReturn: () => void): void {
  addEventListener('pagehide', onLeave, { signal });
  addEventListener('pageshow', ({ persisted }) => persisted && onReturn(), { signal });
}
