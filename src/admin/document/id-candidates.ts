/** Strings of a document that might be ids of other documents. */
import { type JsonTree, stringOf } from '../json/json-tree.ts';

/** Strings of one document. */
const MAX_CANDIDATES = 200;
/** Characters of a string as it is written, with its quotes. */
const MAX_LENGTH = 130;
/** No white space, no address of a web page, no number, no date or time. */
const LOOKS_LIKE_ID = /^(?![a-z]+:\/\/|data:|-?[0-9.]+$|\d{4}-\d\d-\d\d)[^\s\p{Cc}]{2,}$/iu;

/** The strings that might be ids, in the order of the document, each once. */
export function idCandidates(tree: JsonTree, ownId: string): readonly string[] {
  const found = new Set<string>();
  const visit = (value: JsonTree): void => {
    if (found.size >= MAX_CANDIDATES) return;
    if (value.kind === 'array' || value.kind === 'object') for (const entry of value.entries) visit(entry.value);
    else if (value.kind === 'string' && value.text.length <= MAX_LENGTH) {
      const text = stringOf(value.text);
      if (text !== ownId && LOOKS_LIKE_ID.test(text)) found.add(text);
    }
  };
  visit(tree);
  return [...found];
}
