/** Reads the documents that a plan leads to, and returns those that the selector finds. */

import type { TimeSlice } from '../../../base/shared/turn.ts';
import type { RevId } from '../../../database/documents/contract.ts';
import { metaText, writeDocument } from '../../../database/documents/outgoing.ts';
import { toRevId } from '../../../database/documents/revisions/revisions.ts';
import type { DocumentRecord, Snapshot, StoredNode } from '../../../database/store/contract.ts';
import type { FindQuery } from '../find-query.ts';
import { Projection } from '../selectors/field-texts.ts';
import type { TextTest } from '../selectors/selector-check.ts';

/** A document that the plan leads to, and that is not yet read. */
export interface UnreadDocument {
  /** JSON text of the key of its row; `null` if no index is read. */
  readonly keyText: string;
  readonly record: DocumentRecord;
}

/** A document of the response. */
export interface FoundDocument {
  readonly keyText: string;
  readonly id: string;
  /** JSON text of the document, or of its requested fields. */
  readonly text: string;
}

/** Bodies are read until they have this many bytes, but at least one at a time. */
const BODY_BYTES = 262_144;

interface ReaderOptions {
  readonly snapshot: Snapshot;
  readonly query: FindQuery;
  readonly test: TextTest;
  /** Whether the plan leads to matching documents only, so that no test is needed. Called after the documents were read. */
  readonly areAllMatching: () => boolean;
  /** Lets other work run between tests, which may take long. */
  readonly timeSlice: TimeSlice;
}

export class DocumentReader {
  /** How many documents were read. */
  examined = 0;
  readonly #options: ReaderOptions;
  readonly #projection: Projection | undefined;

  constructor(options: ReaderOptions) {
    const { fields } = options.query;
    this.#options = options;
    this.#projection = fields === undefined ? undefined : new Projection(fields);
  }

  async *read(documents: readonly UnreadDocument[]): AsyncGenerator<FoundDocument, void, void> {
    const { snapshot, timeSlice } = this.#options;
    for (const batch of liveBatches(documents)) {
      const bodies = await snapshot.bodies(batch.map(({ winner }) => winner));
      const areAllMatching = this.#options.areAllMatching();
      for (const [index, { keyText, record, winner }] of batch.entries()) {
        const body = bodies[index];
        if (body === undefined) continue;
        this.examined++;
        if (timeSlice.isDue) await timeSlice.rest();
        const text = this.#textOf(record, winner, body);
        if (!areAllMatching) {
          const passes = this.#options.test(text);
          if (!(typeof passes === 'boolean' ? passes : await passes)) continue;
        }
        const shown = this.#projection?.of(text) ?? text;
        yield { keyText, id: record.id, text: typeof shown === 'string' ? shown : await shown };
      }
    }
  }

  #textOf({ id, leaves }: DocumentRecord, winner: StoredNode, body: string): string {
    const showsConflicts = this.#options.query.conflicts && leaves.length > 1;
    const members = showsConflicts ? metaText({ conflicts: conflictsOf(leaves) }) : '';
    return writeDocument({ id, rev: revOf(winner), deleted: false, body, members });
  }
}

interface LiveDocument extends UnreadDocument {
  readonly winner: StoredNode;
}

/** Documents that are not deleted, in batches of a bounded size, because a slow client has its batch kept in memory. */
function* liveBatches(documents: readonly UnreadDocument[]): Generator<readonly LiveDocument[], void, void> {
  let batch: LiveDocument[] = [];
  let bytes = 0;
  for (const { keyText, record } of documents) {
    const [winner] = record.leaves;
    if (winner === undefined || winner.deleted) continue;
    batch.push({ keyText, record, winner });
    bytes += winner.body?.length ?? 0;
    if (bytes < BODY_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

function conflictsOf(leaves: readonly StoredNode[]): RevId[] {
  return leaves
    .slice(1)
    .filter(({ deleted }) => !deleted)
    .map(revOf);
}

function revOf({ generation, hash }: StoredNode): RevId {
  return toRevId(generation, hash);
}
