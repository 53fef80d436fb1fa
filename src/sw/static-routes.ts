/**
 * Tells the browser which requests never concern the service worker, so that they don't wait for it (Service Worker Static Routing API;
 * Chromium has it, in other browsers the fetch listener says so). Only for a service worker that does nothing else.
 */

/** The first route that fits counts. */
interface Route {
  readonly condition: { readonly urlPattern: URLPattern };
  readonly source: 'network' | 'fetch-event';
}

/** What an install event offers where the browser has static routing. */
interface Routing {
  addRoutes(routes: readonly Route[]): Promise<void>;
}

/** Sends every request that is below no base to the network from now on. Does nothing where there is no static routing. */
export function leaveOthers(event: ExtendableEvent, bases: readonly string[]): void {
  if (!hasRouting(event)) return;
  const ours = bases.map(
    (base): Route => ({ condition: { urlPattern: new URLPattern(patternBelow(base)) }, source: 'fetch-event' }),
  );
  const routing = event.addRoutes([...ours, { condition: { urlPattern: new URLPattern({}) }, source: 'network' }]);
  // Without routes everything works as well, only slower.
  event.waitUntil(routing.catch(() => {}));
}

export function patternBelow(base: string): URLPatternInit {
  const { protocol, hostname, port, pathname } = new URL(base);
  return { protocol: protocol.slice(0, -1), hostname: literal(hostname), port, pathname: `${literal(pathname)}*` };
}

/** A host may be an address such as `[::1]`. */
function literal(text: string): string {
  return text.replace(/[\\:*+?(){}]/g, '\\$&');
}

function hasRouting(event: ExtendableEvent): event is ExtendableEvent & Routing {
  return 'addRoutes' in event && typeof event.addRoutes === 'function' && 'URLPattern' in globalThis;
}
