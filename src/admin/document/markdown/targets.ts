/** Where links of a text lead: to the web, or to documents of the same database. Nowhere else. */

export type Target =
  | { readonly kind: 'web'; readonly href: string }
  | { readonly kind: 'document'; readonly id: string };

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/** Undefined: the link is not followed. `isId`: whether a document has that id, as far as it is known. */
export function targetOf(text: string, isId: (id: string) => boolean): Target | undefined {
  if (/^https?:\/\//i.test(text)) return webTarget(text);
  if (isId(text)) return { kind: 'document', id: text };
  const id = decoded(text);
  if (id === undefined || id === '' || /^[/#?.\\]|[\s\p{Cc}]/u.test(id) || SCHEME.test(id)) return undefined;
  return { kind: 'document', id };
}

function webTarget(text: string): Target | undefined {
  try {
    const { href, protocol } = new URL(text);
    return protocol === 'http:' || protocol === 'https:' ? { kind: 'web', href } : undefined;
  } catch {
    return undefined;
  }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
