/**
 * `settee/msw`: the database as request handlers of Mock Service Worker 2, for the tests and stories of an app that uses it. It is
 * the same core that answers in the browser, kept in memory: each call of `handlers` creates an empty one.
 */
import { http } from 'msw';
import type { HandlersOptions, SetteeHandlers } from './contract.ts';
import { MemoryService } from './memory-service.ts';
import { addressPattern, basePathOf } from './mount.ts';
import { loadWasmOfNode } from './node-wasm.ts';

export type { HandlersOptions, SetteeHandlers } from './contract.ts';

/** Throws a TypeError for a base that is not an address. The core opens with the first request. */
export function handlers({ base = '/db/', settings = {}, loadWasm }: HandlersOptions = {}): SetteeHandlers {
  const page = pageAddress();
  const service = new MemoryService(
    { basePath: basePathOf(base, page), config: settings },
    loadWasm ?? loadWasmOfNode(),
  );
  const handler = http.all(addressPattern(base, page), ({ request }) => service.fetch(request));
  return Object.assign([handler], { reset: () => service.reset() });
}

/** Undefined if there is no page. Tests on Node have none, unless a library simulates one. */
function pageAddress(): string | undefined {
  const location: { readonly href: string } | undefined = Reflect.get(globalThis, 'location');
  return location?.href;
}
