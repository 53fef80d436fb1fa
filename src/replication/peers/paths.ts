/** Addresses below a database. */
import { hasLoneSurrogate } from '../../base/json/portable-values.ts';

/** `/id`, encoded except the slash that follows `_design` and `_local`. */
export function documentPath(id: string): string {
  const [, prefix = '', rest = id] = /^(_design\/|_local\/)(.*)$/s.exec(id) ?? [];
  return `/${prefix}${encodeURIComponent(rest)}`;
}

/** Whether an address can refer to the document. */
export function isAddressable(id: string): boolean {
  return !hasLoneSurrogate(id) && isSegment(documentPath(id).replace(/^.*\//s, ''));
}

/** Whether it can be a segment of a path: `.` and `..` would be resolved, however they are encoded. */
export function isSegment(text: string): boolean {
  return text !== '' && text !== '.' && text !== '..' && !hasLoneSurrogate(text);
}

/** Returns `?a=b&c=d`, without undefined parameters; empty if nothing is left. */
export function queryText(parameters: Readonly<Record<string, string | undefined>>): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}
