/** Addresses below a database. */

/** `/id`, encoded but for the slash that follows `_design` and `_local`. */
export function documentPath(id: string): string {
  const [, prefix = '', rest = id] = /^(_design\/|_local\/)(.*)$/s.exec(id) ?? [];
  return `/${prefix}${encodeURIComponent(rest)}`;
}

/** `?a=b&c=d`, without those that are undefined; empty where nothing is left. */
export function queryText(parameters: Readonly<Record<string, string | undefined>>): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}
