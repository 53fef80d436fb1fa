/** Finds the design document that an address names. */

import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import { parseDocId } from '../../database/documents/identifiers.ts';
import type { Snapshot } from '../../database/store/contract.ts';
import type { DesignDocument } from '../../queries/views/contract.ts';
import { revOf } from '../shown/document-rendering.ts';
import { missing, nodeToRead } from './revision-selection.ts';

/** `name` is without `_design/`. Fails with `not_found` "missing" or "deleted". */
export function readDesign(snapshot: Snapshot, name: string): MaybePromise<DesignDocument> {
  const id = parseDocId(`_design/${name}`);
  return whenReady(snapshot.document(id), (record) => {
    const node = nodeToRead(record, undefined);
    if (node === undefined) throw missing();
    return whenReady(snapshot.body(node), (body) => {
      if (body === undefined) throw missing();
      return { id, rev: revOf(node), body };
    });
  });
}
