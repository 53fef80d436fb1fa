/** Replaces the page's own `fetch`, and `navigator.sendBeacon` with it. */

export type PageFetch = (input: Request | URL | string, init?: RequestInit) => Promise<Response>;

export interface ReplacedFetch {
  /** The `fetch` that was there before. */
  readonly original: PageFetch;
  /**
   * Restores the original. If another script has replaced `fetch` again meanwhile, and may call this one, this one stays and passes all calls on to
   * what it had replaced.
   */
  restore(): void;
}

export function replacePageFetch(replacement: PageFetch): ReplacedFetch {
  const before = globalThis.fetch;
  const original: PageFetch = (input, init) => before(input, init);
  let isOver = false;
  const fetch: PageFetch = (input, init) => (isOver ? original(input, init) : replacement(input, init));
  globalThis.fetch = fetch;
  const restore = () => {
    isOver = true;
    if (globalThis.fetch === fetch) globalThis.fetch = before;
  };
  return { original, restore };
}

type SendBeacon = Navigator['sendBeacon'];

/**
 * Replaces `navigator.sendBeacon` with `send`, except for calls for which it returns undefined. Returns a function that restores the original.
 */
export function replaceBeacons(send: (...beacon: Parameters<SendBeacon>) => boolean | undefined): () => void {
  const before = navigator.sendBeacon?.bind(navigator);
  if (!before) return () => {};
  let isOver = false;
  const sendBeacon: SendBeacon = (url, data) => (isOver ? undefined : send(url, data)) ?? before(url, data);
  navigator.sendBeacon = sendBeacon;
  return () => {
    isOver = true;
    // The browser's own is visible again: it is the prototype's.
    if (navigator.sendBeacon === sendBeacon) Reflect.deleteProperty(navigator, 'sendBeacon');
  };
}
