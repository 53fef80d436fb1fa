/** A core on memory that is there when it is asked, and can be exchanged for an empty one. */
import { type Core, type CoreOptions, createCore } from '../core.ts';
import { deferredAtHand } from '../deferred/deferred-code.ts';
import { createFetch } from '../http/fetch-adapter.ts';
import { createQuickJsSandbox, type QuickJsSandboxOptions } from '../query-server/programs/quickjs-sandbox.ts';
import { systemClock, systemRandom } from '../shared/clock.ts';
import { createMemoryPageStore } from '../storage/memory/memory-page-store.ts';

export type ServiceOptions = Pick<CoreOptions, 'basePath' | 'config'>;

export class MemoryService {
  readonly #options: ServiceOptions;
  readonly #loadWasm: QuickJsSandboxOptions['loadWasm'] | undefined;
  #core: Promise<Core> | undefined;

  /** Without `loadWasm` functions of design documents are answered with 501. */
  constructor(options: ServiceOptions, loadWasm?: QuickJsSandboxOptions['loadWasm']) {
    this.#options = options;
    this.#loadWasm = loadWasm;
  }

  async fetch(request: Request): Promise<Response> {
    this.#core ??= this.#open();
    const core = await this.#core;
    return breakOff(await createFetch(core.handle)(request), request.signal);
  }

  async reset(): Promise<void> {
    const core = this.#core;
    this.#core = undefined;
    await (await core)?.close();
  }

  #open(): Promise<Core> {
    const sandbox = this.#loadWasm && createQuickJsSandbox({ loadWasm: this.#loadWasm });
    return createCore({
      ...this.#options,
      deferred: deferredAtHand(sandbox),
      storage: createMemoryPageStore(),
      clock: systemClock,
      random: systemRandom,
      network: { fetch: (...request) => fetch(...request) },
    });
  }
}

/** An abort while the body is read ends it with the signal's reason, as `fetch` does; MSW alone would let it go on. */
function breakOff(response: Response, signal: AbortSignal): Response {
  const body = response.body?.pipeThrough(new TransformStream(), { signal }) ?? null;
  return new Response(body, response);
}
