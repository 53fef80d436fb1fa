/**
 * Where event sources resume when they connect again. They say so in the header `Last-Event-ID`, which Chromium shows to no service worker. So
 * this one remembers the last id of each event source whose body has ended or failed. A page that closes its event source is forgotten: when it
 * opens another one with the same address, that starts over.
 */

import type { ByteStream, PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import { isStream } from '../bridge/wire-codec.ts';

/** The type of what event sources read. */
export const EVENT_STREAM = 'text/event-stream';
/** Browsers wait some seconds before they connect again; a frozen page may take longer. */
const REMEMBERED_MS = 300_000;

interface LastEvent {
  readonly id: string;
  readonly at: number;
}

/** The reason for cancelling a body that its reader did not give up. */
export class BrokenOff extends TypeError {}

export class EventIds {
  readonly #ended = new Map<string, LastEvent>();

  /** Returns the request with its page's last id, if the browser does not show it. `client`: the page it comes from. */
  addTo(client: string, request: PlainRequest): PlainRequest {
    if (request.headers['accept'] !== EVENT_STREAM) return request;
    const key = keyOf(client, request.url);
    const last = this.#ended.get(key);
    this.#ended.delete(key);
    const isKnown = last !== undefined && Date.now() - last.at < REMEMBERED_MS;
    if (!isKnown || request.headers['last-event-id'] !== undefined) return request;
    return { ...request, headers: { ...request.headers, 'last-event-id': last.id } };
  }

  /** Returns the response to that request; its events are inspected as they pass. */
  follow(client: string, url: string, response: PlainResponse): PlainResponse {
    const { headers, body } = response;
    if (!isStream(body) || headers['content-type'] !== EVENT_STREAM) return response;
    return { ...response, body: new FollowedEvents(body, (id) => this.#remember(keyOf(client, url), id)) };
  }

  /** The remembered ids, for the service worker that takes over. */
  get entries(): readonly (readonly [string, LastEvent])[] {
    return [...this.#ended];
  }

  takeOver(entries: readonly (readonly [string, LastEvent])[]): void {
    for (const [key, last] of entries) this.#ended.set(key, last);
  }

  #remember(key: string, id: string): void {
    for (const [other, { at }] of this.#ended) if (Date.now() - at > REMEMBERED_MS) this.#ended.delete(other);
    this.#ended.set(key, { id, at: Date.now() });
  }
}

const keyOf = (client: string, url: string): string => `${client} ${url}`;

class FollowedEvents implements ByteStream {
  readonly #stream: ByteStream;
  readonly #onEnd: (lastId: string) => void;
  readonly #decoder = new TextDecoder();
  #lastId: string | undefined;
  /** The page wants no more. */
  #isClosed = false;
  /** A line whose end has not arrived yet. */
  #line = '';

  constructor(stream: ByteStream, onEnd: (lastId: string) => void) {
    this.#stream = stream;
    this.#onEnd = onEnd;
  }

  async pull(): Promise<Uint8Array | undefined> {
    try {
      const chunk = await this.#stream.pull();
      if (chunk === undefined) this.#end();
      else this.#note(this.#decoder.decode(chunk, { stream: true }));
      return chunk;
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  async cancel(reason?: unknown): Promise<void> {
    if (reason instanceof BrokenOff) this.#end();
    // A waiting read ends now, as at the end of a body; but nothing resumes after what the page closed.
    else this.#isClosed = true;
    await this.#stream.cancel(reason instanceof BrokenOff ? reason.message : reason);
  }

  /** An id counts once the empty line after its event has arrived. */
  #note(text: string): void {
    const lines = this.#line + text;
    const end = lines.lastIndexOf('\n\n');
    this.#line = end < 0 ? lines : lines.slice(end + 1);
    if (end < 0) return;
    const start = lines.lastIndexOf('\nid:', end);
    if (start < 0 && !lines.startsWith('id:')) return;
    const line = lines.slice(start + 1, lines.indexOf('\n', start + 1));
    this.#lastId = line.slice('id:'.length).trimStart();
  }

  #end(): void {
    // An empty id makes the event source start over.
    if (this.#lastId && !this.#isClosed) this.#onEnd(this.#lastId);
  }
}
