import { compareCodePoints } from '../../../base/collation/code-points.ts';
import { stringValue } from '../../../base/json/strings.ts';
import type { TreeSpec } from '../../../storage/btree/contract.ts';
import type { Tree } from '../../../storage/btree/tree.ts';

/**
 * The tree `by-document` of an index, as a specification for `btree/`: by document id the keys that the document emitted,
 * from which its rows are found when it has changed.
 */
export type DocumentTree = Tree<string, number>;

/** Between the keys of one tree. */
const UNIT_SEPARATOR = '\u001f';
/** Between the keys of several trees. */
const RECORD_SEPARATOR = '\u001e';

/** Keys are stored as JSON texts, because these contain neither tabs nor line breaks. The reduction counts documents. */
export const documentSpec: TreeSpec<string, number> = {
  compare: compareCodePoints,
  encodeKey: (id) => JSON.stringify(id),
  decodeKey: (text) => stringValue(text),
  reduce: (entries) => entries.length,
  rereduce: (counts) => counts.reduce((sum, count) => sum + count, 0),
  adjust: (count, former, added) => count + added.length - former.length,
};

/** Before the keys of a document that is left out of a view. No JSON text begins with it. */
const LEFT_OUT_MARK = '!';

/**
 * Encodes `keys`: for each tree the JSON texts of the keys that a document emitted. Undefined if it emitted none, and is left out of no view.
 */
export function encodeEmitted(keys: readonly (readonly string[])[], isLeftOut: boolean): string | undefined {
  if (isLeftOut) return LEFT_OUT_MARK + joined(keys);
  if (keys.every((texts) => texts.length === 0)) return undefined;
  return joined(keys);
}

function joined(keys: readonly (readonly string[])[]): string {
  return keys.map((texts) => texts.join(UNIT_SEPARATOR)).join(RECORD_SEPARATOR);
}

/** Returns whether the document could not be mapped for at least one view. */
export function isLeftOut(value: string | undefined): boolean {
  return value?.startsWith(LEFT_OUT_MARK) === true;
}

export function decodeEmitted(value: string): string[][] {
  const keys = isLeftOut(value) ? value.slice(LEFT_OUT_MARK.length) : value;
  return keys.split(RECORD_SEPARATOR).map((texts) => (texts === '' ? [] : texts.split(UNIT_SEPARATOR)));
}
