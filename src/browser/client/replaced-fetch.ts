/** `fetch` in the place of the page's own, and with it `navigator.sendBeacon`. */

export type PageFetch = (input: Request | URL | string, init?: RequestInit) => Promise<Response>;

export interface ReplacedFetch {
  /** What was there before. */
  readonly original: PageFetch;
  /**
   * Takes the other one back. Where somebody has put a third one over it meanwhile, which may call it, it stays and hands all on to what it had
   * replaced.
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
 * Puts `send` in the place of `navigator.sendBeacon`, for what it does not give undefined for. Gives what takes it back.
 */
export function replaceBeacons(send: (...beacon: Parameters<SendBeacon>) => boolean | undefined): () => void {
  const before = navigator.sendBeacon?.bind(navigator);
  if (!before) return () => {};
  let isOver = false;
  const sendBeacon: SendBeacon = (url, data) => (isOver ? undefined : send(url, data)) ?? before(url, data);
  navigator.sendBeacon = sendBeacon;
  return () => {
    isOver = true;
    // The browser's own is there again: it is the prototype's.
    if (navigator.sendBeacon === sendBeacon) Reflect.deleteProperty(navigator, 'sendBeacon');
  };
}
