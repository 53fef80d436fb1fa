/** Addresses of the page: `#/` and the names of screens, databases and documents, each escaped. */
import { signal } from '@preact/signals';

export interface Route {
  /** Decoded segments: `#/db/library/doc/a%2Fb?rev=1-x` has `db`, `library`, `doc`, `a/b`. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

export const route = signal<Route>(parseHash(location.hash));

/** Set while there is something that a change of screens would lose. */
let mayLeave: () => boolean = () => true;

addEventListener('hashchange', ({ oldURL }) => {
  if (mayLeave()) {
    mayLeave = () => true;
    route.value = parseHash(location.hash);
  } else {
    history.replaceState(null, '', oldURL);
  }
});

/** Asks `confirmed` before the next change of screens; it returns whether the user may leave. */
export function guardLeaving(confirmed: () => boolean): () => void {
  mayLeave = confirmed;
  return () => {
    if (mayLeave === confirmed) mayLeave = () => true;
  };
}

/** Returns the address of a screen. */
export function hrefOf(segments: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const search = new URLSearchParams(pairs).toString();
  return `#/${segments.map(encodeURIComponent).join('/')}${search && `?${search}`}`;
}

/** The address of the login, which leads back to the screen in sight afterwards. */
export function logInAddress(): string {
  const { segments, query } = route.value;
  const parameters = Object.fromEntries(query);
  return segments[0] === 'login'
    ? hrefOf(segments, parameters)
    : hrefOf(['login'], { to: hrefOf(segments, parameters) });
}

export function goTo(segments: readonly string[], query?: Readonly<Record<string, string | undefined>>): void {
  location.hash = hrefOf(segments, query);
}

function parseHash(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const segments = path === '' ? [] : path.split('/').map(decodeSegment);
  return { segments, query: new URLSearchParams(search) };
}

/** Addresses may be typed by hand. */
function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
