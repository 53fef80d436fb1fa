/** `fetch`, timed: the page shows what it asked and how long the answer took. */
export interface LoggedRequest {
  readonly method: string;
  /** Decoded as far as it can be read then. */
  readonly path: string;
  /** 0: no answer came. */
  readonly status: number;
  /** Until the head of the answer was there. */
  readonly ms: number;
}

/** What a feed told. */
export interface LoggedEvent {
  readonly method: 'EVENT';
  /** With what was told. */
  readonly path: string;
}

type Fetch = (path: string, init?: RequestInit) => Promise<Response>;

/** What the page asks without being asked to would push out of the log what people look for there. */
export type Logging = 'logged' | 'quiet';

const KEPT = 100;

export class RequestLog extends EventTarget {
  /** The latest first. */
  readonly entries: (LoggedRequest | LoggedEvent)[] = [];

  #fetch: Fetch = (path, init) => fetch(path, init);

  /** The `fetch` by which the page asks from now on. */
  use(fetch: Fetch): void {
    this.#fetch = fetch;
  }

  /** As `fetch`. Tells of each answer by a `request` event. */
  async fetch(path: string, init: RequestInit = {}, logging: Logging = 'logged'): Promise<Response> {
    const began = performance.now();
    let status = 0;
    try {
      const response = await this.#fetch(path, init);
      status = response.status;
      return response;
    } finally {
      const ms = performance.now() - began;
      if (logging === 'logged') this.#add({ method: init.method ?? 'GET', path: readable(path), status, ms });
    }
  }

  /** An `EventSource` makes its request by itself: what it tells is shown instead. `isMore`: of what the latest entry has begun to tell. */
  tell(path: string, told: string, isMore: boolean): void {
    if (isMore && this.entries[0]?.method === 'EVENT') this.entries.shift();
    this.#add({ method: 'EVENT', path: `${path} → ${told}` });
  }

  #add(entry: LoggedRequest | LoggedEvent): void {
    this.entries.unshift(entry);
    this.entries.length = Math.min(this.entries.length, KEPT);
    this.dispatchEvent(new Event('request'));
  }
}

function readable(path: string): string {
  try {
    return decodeURIComponent(path.replaceAll('+', ' ')).replace(/\p{C}/gu, (character) => {
      return `\\u{${character.codePointAt(0)?.toString(16)}}`;
    });
  } catch {
    return path;
  }
}
