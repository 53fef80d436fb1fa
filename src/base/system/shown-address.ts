/** How a database or a proxy is shown that a text names: without the secrets that a URL may hold. */

/**
 * No database name begins with a hyphen, as what documents of `_replicator` keep encrypted does, or contains one of the others. Every URL does,
 * also one with a mistake in it.
 */
const NOT_IN_NAMES = /^-|[@:\\?#\s]/;
const ADDRESS = /^[a-z][a-z\d+.-]*:\/\/[^/]/i;

/** Whether a text may be the name of a database, rather than a URL. */
export function mayBeName(text: string): boolean {
  return !NOT_IN_NAMES.test(text);
}

/**
 * Returns what everyone may see of a text that names a database or a proxy: the name of a database as it is; of a URL all but the user, the
 * password, the query and the fragment. Undefined for a text that is neither, and for a URL with a mistake, such as a password that
 * is not percent-encoded: a secret may be anywhere in it.
 */
export function shownAddress(text: string): string | undefined {
  if (mayBeName(text)) return text;
  const url = ADDRESS.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || `${url.pathname}${url.search}${url.hash}`.includes('@')) return undefined;
  return `${url.protocol}//${url.host}${url.pathname}`;
}
