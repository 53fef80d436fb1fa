import { expose } from 'comlink';
import type { ByteStream } from '../../../src/base/shared/message.ts';
import { servePageCalls } from '../../../src/browser/worker/page-calls.ts';
import { WorkerEndpoint } from '../../../src/browser/worker/worker-endpoint.ts';
import type { LoadDeferredCode } from '../../../src/core/deferred/contract.ts';
import { createDeferredCode } from '../../../src/core/deferred/deferred-code.ts';
import type { Answer, Context } from '../../../src/http/request/context.ts';

/**
 * The worker of a page with the real endpoint, bridge and core, in which one address answers with a made-up feed: `_index` with
 * `?pauses=<ms>,<ms>,…&bytes=<bytes>`. After each pause a line comes, `{"seq":1,"at":<milliseconds of the clock>,"text":"x…"}` with so many
 * bytes of text, then `{"last_seq":<seq>}` and the end.
 */
class Feed implements ByteStream {
  readonly #pauses: readonly number[];
  readonly #text: string;
  readonly #encoder = new TextEncoder();
  #seq = 0;
  #isOver = false;
  #wake: () => void = () => {};

  constructor(pauses: readonly number[], bytes: number) {
    this.#pauses = pauses;
    this.#text = 'x'.repeat(bytes);
  }

  async pull(): Promise<Uint8Array | undefined> {
    if (this.#isOver) return undefined;
    const pauseMs = this.#pauses[this.#seq];
    if (pauseMs === undefined) {
      this.#isOver = true;
      return this.#encoder.encode(`{"last_seq":${this.#seq}}\n`);
    }
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      setTimeout(resolve, pauseMs);
    });
    if (this.#isOver) return undefined;
    this.#seq += 1;
    return this.#encoder.encode(`{"seq":${this.#seq},"at":${Date.now()},"text":"${this.#text}"}\n`);
  }

  async cancel(): Promise<void> {
    this.#isOver = true;
    this.#wake();
  }
}

function feed({ query }: Context): Answer {
  const pauses = query.get('pauses')?.split(',').map(Number) ?? [];
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: new Feed(pauses, Number(query.get('bytes') ?? 0)),
  };
}

const deferred: LoadDeferredCode = () => {
  const code = createDeferredCode(() => undefined);
  return {
    ...code,
    find: (views, clock, config) => {
      const { handlers, ...rest } = code.find(views, clock, config);
      return { ...rest, handlers: { ...handlers, getIndexes: (_service, context) => feed(context) } };
    },
  };
};

/** `?silent`: the page is not asked to keep the service worker alive. */
const isSilent = self.location.search === '?silent';
const { locks } = navigator;
const endpoint = new WorkerEndpoint({
  address: self.location.href,
  locks,
  indexedDB: self.indexedDB,
  deferred,
  offerPort: (offer, port) => self.postMessage(offer, [port]),
  ...(isSilent ? {} : { sendAlive: (sign: object) => self.postMessage(sign) }),
});
expose(endpoint);
servePageCalls(self, endpoint);
