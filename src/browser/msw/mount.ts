/** Which addresses a base stands for. */

/** Used if there is no page; only its path matters then. */
const NOWHERE = 'http://localhost/';

/** The path below which the service is mounted, without a slash at its end; empty for the root. */
export function basePathOf(base: string, page: string | undefined): string {
  return resolve(base, page).pathname.replace(/\/+$/, '');
}

/**
 * Matches the addresses at and below the base, without their queries. It has no groups: MSW would decode what they capture, and
 * fail if that is not valid percent-encoding.
 */
export function addressPattern(base: string, page: string | undefined): RegExp {
  const { origin } = resolve(base, page);
  const isAnywhere = page === undefined && !URL.canParse(base);
  const start = isAnywhere ? '[a-z][a-z0-9+.-]*://[^/]*' : literal(origin);
  return new RegExp(`^${start}${literal(basePathOf(base, page))}(?:/|$)`);
}

function resolve(base: string, page = NOWHERE): URL {
  return new URL(base, page);
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
