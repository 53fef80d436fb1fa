/** Addresses below a database. */
import { hasLoneSurrogate } from '../../base/json/portable-values.ts';

/** `/id`, encoded but for the slash that follows `_design` and `_local`. */
export function documentPath(id: string): string {
  const [, prefix = '', rest = id] = /^(_design\/|_local\/)(.*)$/s.exec(id) ?? [];
  return `/${prefix}${encodeURIComponent(rest)}`;
}

/** Whether an address can lead to the document. */
export function isAddressable(id: string): boolean {
  return !hasLoneSurrogate(id) && isSegment(documentPath(id).replace(/^.*\//s, ''));
}

/** Whether it can be a segment of a path: `.` and `..` would be folded into it, however they are written. */
export function isSegment(text: string): boolean {
  return text !== '' && text !== '.' && text !== '..' && !hasLoneSurrogate(text);
}

/** `?a=b&c=d`, without those that are undefined; empty where nothing is left. */
export function queryText(parameters: Readonly<Record<string, string | undefined>>): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}
