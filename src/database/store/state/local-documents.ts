import { must } from '../../../base/shared/assert.ts';
import type { DocId } from '../../documents/contract.ts';
import type { LocalDocument } from '../contract.ts';

/**
 * `_local` documents in the locals tree. A stored value is the document's revision count, a space, and its body. Keys
 * outside the bounds below are settings (`stored-settings.ts`).
 */
export const LOCAL_START = '_local/';
export const LOCAL_END = '_local0';

export function encodeLocal(count: number, body: string): string {
  return `${count} ${body}`;
}

export function decodeLocal(value: string | undefined): { count: number; body: string } | undefined {
  if (value === undefined) return undefined;
  const space = value.indexOf(' ');
  return { count: Number(value.slice(0, space)), body: value.slice(space + 1) };
}

/** Returns a stored value in the form that readers get. */
export function toLocalDocument(id: DocId, value: string): LocalDocument {
  const { count, body } = must(decodeLocal(value));
  return { id, rev: `0-${count}`, body };
}
