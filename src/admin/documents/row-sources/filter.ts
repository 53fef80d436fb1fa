/** Which documents the list shows. */
import { isObject, type JsonObject } from '../../server/json.ts';

export type Filter =
  | { readonly kind: 'all' }
  | { readonly kind: 'prefix'; readonly prefix: string }
  | { readonly kind: 'design' }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'conflicts' }
  | { readonly kind: 'selector'; readonly selector: JsonObject };

export type FilterKind = Filter['kind'];

export const EVERYTHING: Filter = { kind: 'all' };

/** A character that sorts after all others that ids have. */
export const LAST_CHARACTER = '\u{10fffd}';

/** Ids from the first to the last that match; undefined: those that match are not a range of ids. */
export function idRange(filter: Filter): { readonly startkey?: string; readonly endkey?: string } | undefined {
  switch (filter.kind) {
    case 'all':
      return {};
    case 'prefix':
      return rangeOf(filter.prefix);
    case 'design':
      return rangeOf('_design/');
    case 'deleted':
    case 'conflicts':
    case 'selector':
      return undefined;
  }
}

function rangeOf(prefix: string): { readonly startkey?: string; readonly endkey?: string } {
  return prefix === '' ? {} : { startkey: prefix, endkey: `${prefix}${LAST_CHARACTER}` };
}

/** The selector, from a selector or from a query that has one; or a sentence about what is wrong with the text. */
export function parseSelector(text: string): JsonObject | string {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return 'A selector is a JSON object, such as {"year": {"$lt": 1900}}.';
    return isObject(value['selector']) ? value['selector'] : value;
  } catch (error) {
    return `The selector is not JSON: ${error instanceof Error ? error.message : error}.`;
  }
}

/** What one document of the filter is called, and several: `12 design documents match`. */
export function nounsOf({ kind }: Filter): readonly [singular: string, plural: string] {
  if (kind === 'design') return ['design document', 'design documents'];
  if (kind === 'deleted') return ['deleted document', 'deleted documents'];
  return kind === 'conflicts' ? ['document in conflict', 'documents in conflict'] : ['document', 'documents'];
}
