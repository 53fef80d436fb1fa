/** `fetch`, timed: the page shows its requests and how long the responses took. */
import { KnownServer } from './known-server.ts';

export interface LoggedRequest {
  readonly method: string;
  /** Decoded as far as that keeps it readable. */
  readonly path: string;
  /** 0: no response came. */
  readonly status: number;
  /** Until the head of the response arrived. */
  readonly ms: number;
  /** What was sent, so that it can be sent again. */
  readonly sent: SentRequest;
}

export interface SentRequest {
  readonly method: string;
  /** As it was requested. */
  readonly path: string;
  readonly contentType: string | undefined;
  /** A text, `file` for a body that is none, `long` for one that is too long to be kept; undefined if there was none. */
  readonly body: { readonly text: string } | 'file' | 'long' | undefined;
}

/** An event of a feed. */
export interface LoggedEvent {
  readonly method: 'EVENT';
  /** The path together with the event. */
  readonly path: string;
}

type Fetch = (path: string, init?: RequestInit) => Promise<Response>;

/** Requests that the user did not cause would push those that the user looks for out of the log. */
export type Logging = 'logged' | 'quiet';

const KEPT = 100;

/** Characters of a body; a note with its photo has fewer. */
const KEPT_BODY = 300_000;

export class RequestLog extends EventTarget {
  /** The latest first. */
  readonly entries: (LoggedRequest | LoggedEvent)[] = [];
  /** As the responses name it. */
  readonly server = new KnownServer();

  #fetch: Fetch = (path, init) => fetch(path, init);

  /** The `fetch` that the page uses from now on. */
  use(fetch: Fetch): void {
    this.#fetch = fetch;
  }

  /** Works as `fetch`. Fires a `request` event for each response. */
  async fetch(path: string, init: RequestInit = {}, logging: Logging = 'logged'): Promise<Response> {
    const began = performance.now();
    let status = 0;
    try {
      const response = await this.#fetch(path, init);
      status = response.status;
      this.server.note(response);
      return response;
    } finally {
      const ms = performance.now() - began;
      const sent = sentRequest(path, init);
      if (logging === 'logged') this.#add({ method: sent.method, path: readable(path), status, ms, sent });
    }
  }

  /** An `EventSource` makes its own requests: its events are shown instead. `isMore`: the event continues the latest entry. */
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

function sentRequest(path: string, { method = 'GET', headers, body }: RequestInit): SentRequest {
  const contentType = body === undefined ? undefined : (new Headers(headers).get('content-type') ?? undefined);
  if (typeof body !== 'string') return { method, path, contentType, body: body ? 'file' : undefined };
  return { method, path, contentType, body: body.length > KEPT_BODY ? 'long' : { text: body } };
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
