/** `fetch` in the place of the page's own. */

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
