/** A core in memory that is created when first needed, and can be replaced by an empty one. It keeps the session's cookies, like a page's worker. */

import { systemClock, systemRandom } from '../../base/shared/clock.ts';
import { whenReady } from '../../base/shared/maybe-promise.ts';
import type { Handle } from '../../base/shared/message.ts';
import { type Core, type CoreOptions, createCore } from '../../core/core.ts';
import { deferredAtHand } from '../../core/deferred/deferred-code.ts';
import { createFetch } from '../../http/fetch-adapter.ts';
import { createQuickJsSandbox, type QuickJsSandboxOptions } from '../../queries/sandbox/programs/quickjs-sandbox.ts';
import { createMemoryPageStore } from '../../storage/memory-page-store.ts';
import { CookieJar } from '../cookie-jar.ts';

export type ServiceOptions = Pick<CoreOptions, 'basePath' | 'config'>;

/** If the base is only a path, the cookies belong to this host; they go only to this service. */
const HOST = 'http://localhost/';

export class MemoryService {
  #jar = newJar();
  readonly #options: ServiceOptions;
  readonly #loadWasm: QuickJsSandboxOptions['loadWasm'] | undefined;
  #core: Promise<Core> | undefined;

  /** Without `loadWasm`, functions of design documents return 501. */
  constructor(options: ServiceOptions, loadWasm?: QuickJsSandboxOptions['loadWasm']) {
    this.#options = options;
    this.#loadWasm = loadWasm;
  }

  async fetch(request: Request): Promise<Response> {
    this.#core ??= this.#open();
    const core = await this.#core;
    const handle = request.credentials === 'omit' ? core.handle : withSession(core.handle, this.#jar);
    return breakOff(await createFetch(handle)(request), request.signal);
  }

  async reset(): Promise<void> {
    const core = this.#core;
    this.#core = undefined;
    this.#jar = newJar();
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

function newJar(): CookieJar {
  return new CookieJar({ clock: systemClock, base: HOST, onChange: () => {} });
}

/**
 * Neither `fetch` on Node nor a mocked one in a page keeps cookies that only the browser may see. A client that sends cookies of its own has a
 * jar of its own.
 */
function withSession(handle: Handle, jar: CookieJar): Handle {
  return (request) => {
    const cookie = request.headers['cookie'] ?? jar.header(request.url);
    const headers = cookie === undefined ? request.headers : { ...request.headers, cookie };
    return whenReady(handle({ ...request, headers }), (response) => {
      const lines = response.headers['set-cookie'];
      if (lines !== undefined) jar.take(lines, request.url);
      return response;
    });
  };
}

/** An abort while the body is read ends it with the signal's reason, as `fetch` does; MSW alone would let it go on. */
function breakOff(response: Response, signal: AbortSignal): Response {
  const body = response.body?.pipeThrough(new TransformStream(), { signal }) ?? null;
  return new Response(body, response);
}
