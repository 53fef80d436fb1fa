/**
 * Tells the browser which requests never concern the service worker, so that they don't wait for it (Service Worker Static Routing API;
 * Chromium has it, in other browsers the fetch listener decides). Only for a service worker that does nothing else.
 *
 * A page keeps the routes of the service worker that controlled it when it was loaded, even after another one has taken control. When a
 * release moves the base, the page's first visit still has the routes of the old base. So the routes only name what an app loads as its own
 * code: pages, scripts, styles, fonts. Everything that may be meant for a database, wherever its base is then, reaches the service worker
 * in control: `fetch`, `XMLHttpRequest`, `EventSource`, beacons, images and media. What is not below its base goes on to the network.
 */

type Condition =
  | { readonly urlPattern: URLPattern }
  | { readonly requestMode: RequestMode }
  | { readonly requestDestination: RequestDestination }
  | { readonly or: readonly Condition[] };

/** The first matching route applies. What matches none goes to the fetch listener. */
interface Route {
  readonly condition: Condition;
  readonly source: 'network' | 'fetch-event';
}

/** What an app loads as its own code, besides pages. */
const CODE: readonly RequestDestination[] = ['script', 'style', 'font', 'manifest', 'worker', 'sharedworker'];

/** What an install event offers if the browser has static routing. */
interface Routing {
  addRoutes(routes: readonly Route[]): Promise<void>;
}

/** Sends an app's own code that is below no base to the network from now on. Does nothing if there is no static routing. */
export function leaveOthers(event: ExtendableEvent, bases: readonly string[]): void {
  if (!hasRouting(event)) return;
  const ours = bases.map(
    (base): Route => ({ condition: { urlPattern: new URLPattern(patternBelow(base)) }, source: 'fetch-event' }),
  );
  const code: Condition[] = [
    { requestMode: 'navigate' },
    ...CODE.map((requestDestination) => ({ requestDestination })),
  ];
  const routing = event.addRoutes([...ours, { condition: { or: code }, source: 'network' }]);
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
