/** Which changes affect the answer of a selector query, and how. */

import { must } from '../../../base/shared/assert.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { TimeSlice } from '../../../base/shared/turn.ts';
import type { ChangeFilter, SelectedChange } from '../../../database/changes/contract.ts';
import type { ChangeRow, DocumentRecord, Snapshot, StoredNode } from '../../../database/store/contract.ts';
import { byBodySize, readAgain } from '../../documents/lists/body-batches.ts';
import { conflictsOf, documentText } from '../../shown/document-rendering.ts';

/** The text of a document that is in the answer; undefined if it is no longer in it, or never was. */
type Shown = string | undefined;

/** How many ancestors are looked at to find out whether a document was in the answer before. */
const MAX_ANCESTORS = 10;

interface LiveSelectionOptions {
  /** Whether a document, given as its text, is in the answer. */
  readonly test: (document: string) => MaybePromise<boolean>;
  /** What the answer shows of a document's text. */
  readonly show: (text: string) => MaybePromise<string>;
  /** Whether documents are shown with `_conflicts`. */
  readonly conflicts: boolean;
}

/**
 * Passes changes of documents that are in the answer, or may have been in it before. Remembers nothing of the answer: a document's earlier
 * revisions tell whether it was in it. If they are not kept, it counts as having been there.
 */
export class LiveSelection implements ChangeFilter {
  readonly #options: LiveSelectionOptions;
  readonly #shown = new WeakMap<ChangeRow, { readonly text: Shown }>();

  constructor(options: LiveSelectionOptions) {
    this.#options = options;
  }

  /** What is shown for a change that has passed. */
  shown({ row }: SelectedChange): Shown {
    return must(this.#shown.get(row), 'a change is looked at before it passes').text;
  }

  async select(rows: readonly ChangeRow[], snapshot: Snapshot): Promise<readonly SelectedChange[]> {
    const passing: SelectedChange[] = [];
    const timeSlice = new TimeSlice();
    for (const some of byBodySize(await presentOf(rows, snapshot), ({ record }) => record.leaves[0])) {
      const known = some.map(({ row }) => row);
      const selected = await readAgain(async (isAgain) =>
        this.#select(isAgain ? await presentOf(known, snapshot) : some, snapshot, timeSlice),
      );
      for (const { row, text } of selected) {
        this.#shown.set(row, { text });
        passing.push({ row, revs: row.revs.slice(0, 1) });
      }
    }
    return passing;
  }

  /** Returns the changes that pass, and what is shown of them. */
  async #select(items: readonly PresentRow[], snapshot: Snapshot, timeSlice: TimeSlice) {
    const bodies = await snapshot.bodies(items.map(({ record }) => winnerOf(record)));
    const selected: { readonly row: ChangeRow; readonly text: Shown }[] = [];
    for (const [index, { row, record }] of items.entries()) {
      const text = await this.#textInAnswer(record, winnerOf(record), bodies[index]);
      if (text === undefined && !(await this.#mayHaveBeenThere(record, snapshot))) continue;
      selected.push({ row, text });
      if (timeSlice.isDue) await timeSlice.rest();
    }
    return selected;
  }

  async #textInAnswer(record: DocumentRecord, node: StoredNode, body: string | undefined): Promise<Shown> {
    if (node.deleted || body === undefined) return undefined;
    const text = documentText(record, node, body, this.#options.conflicts ? conflictsOf(record) : undefined);
    return (await this.#options.test(text)) ? this.#options.show(text) : undefined;
  }

  async #mayHaveBeenThere(record: DocumentRecord, snapshot: Snapshot): Promise<boolean> {
    // Which of several branches won before is unknown.
    if (record.leaves.length > 1) return true;
    let node = winnerOf(record).parent;
    for (let looked = 0; node !== undefined; looked++) {
      const body = looked < MAX_ANCESTORS ? await snapshot.body(node) : undefined;
      if (!node.deleted && (body === undefined || (await this.#textInAnswer(record, node, body)) !== undefined))
        return true;
      node = node.parent;
    }
    return false;
  }
}

interface PresentRow {
  readonly row: ChangeRow;
  readonly record: DocumentRecord;
}

/** Omits documents that have changed since: they come again, at their new place. */
async function presentOf(rows: readonly ChangeRow[], snapshot: Snapshot): Promise<readonly PresentRow[]> {
  const records = await snapshot.documents(rows.map(({ id }) => id));
  return rows.flatMap((row, index) => {
    const record = records[index];
    return record?.seq === row.seq ? [{ row, record }] : [];
  });
}

function winnerOf(record: DocumentRecord): StoredNode {
  return must(record.leaves[0], 'a document has a leaf');
}
