/** The text of changes (docs/http.md#rows-of-changes). */
import type { SelectedChange } from '../../changes/contract.ts';
import type { DocumentRecord, Snapshot } from '../../database/contract.ts';
import { writeQuoted } from '../../documents/outgoing.ts';
import { must } from '../../shared/assert.ts';
import { conflictsOf, revOf } from '../documents/document-rendering.ts';
import { type AttachmentFlags, shownBodies } from '../documents/inline-attachments.ts';
import { byBodySize } from '../lists/body-batches.ts';
import { readAgain } from '../lists/read-again.ts';
import type { ChangeParameters } from './change-parameters.ts';

interface ShownRow {
  readonly seq: number;
  /** JSON text. */
  readonly text: string;
}

export class ChangeRows {
  readonly #includeDocs: boolean;
  readonly #conflicts: boolean;
  readonly #flags: AttachmentFlags | undefined;

  constructor({ includeDocs, conflicts, attachments, attEncodingInfo }: ChangeParameters) {
    this.#includeDocs = includeDocs;
    this.#conflicts = conflicts;
    const hasFlags = attachments || attEncodingInfo;
    this.#flags = hasFlags ? { content: attachments, since: [], encodingInfo: attEncodingInfo } : undefined;
  }

  /** Some at a time: no more than a slow reader may have waiting. */
  async *of(changes: readonly SelectedChange[], snapshot: Snapshot): AsyncGenerator<readonly ShownRow[], void, void> {
    if (!this.#includeDocs) {
      yield changes.map((change) => ({ seq: change.row.seq, text: rowText(change, undefined) }));
      return;
    }
    const items = await found(changes, snapshot);
    for (const some of byBodySize(items, ({ record }) => record?.leaves[0], this.#flags !== undefined)) {
      const documents = await readAgain(async (isAgain) => {
        const read = isAgain
          ? await found(
              some.map(({ change }) => change),
              snapshot,
            )
          : some;
        return this.#documents(
          read.map(({ record }) => record),
          snapshot,
        );
      });
      yield some.map(({ change }, index) => ({ seq: change.row.seq, text: rowText(change, must(documents[index])) }));
    }
  }

  /** The winners' texts; `null` where one can't be read. */
  async #documents(records: readonly (DocumentRecord | undefined)[], snapshot: Snapshot): Promise<string[]> {
    const known = records.filter((record) => record !== undefined);
    const winners = known.map((record) => must(record.leaves[0], 'a document has a leaf'));
    const bodies = await shownBodies(snapshot, winners, this.#flags);
    let next = 0;
    return records.map((record) => (record === undefined ? 'null' : this.#document(record, bodies[next++])));
  }

  #document(record: DocumentRecord, body: string | undefined): string {
    const node = must(record.leaves[0]);
    if (body === undefined && !node.deleted) return 'null';
    const members = this.#conflicts ? conflictsOf(record) : undefined;
    const shown = { deleted: node.deleted, body: body ?? '{}', members };
    return writeQuoted(JSON.stringify(record.id), JSON.stringify(revOf(node)), shown);
  }
}

interface FoundChange {
  readonly change: SelectedChange;
  readonly record: DocumentRecord | undefined;
}

async function found(changes: readonly SelectedChange[], snapshot: Snapshot): Promise<readonly FoundChange[]> {
  const records = await snapshot.documents(changes.map(({ row }) => row.id));
  return changes.map((change, index) => ({ change, record: records[index] }));
}

function rowText({ row, revs }: SelectedChange, doc: string | undefined): string {
  const changes = revs.map((rev) => `{"rev":${JSON.stringify(rev)}}`).join(',');
  const deleted = row.deleted ? ',"deleted":true' : '';
  const docMember = doc === undefined ? '' : `,"doc":${doc}`;
  return `{"seq":${row.seq},"id":${JSON.stringify(row.id)},"changes":[${changes}]${deleted}${docMember}}`;
}
