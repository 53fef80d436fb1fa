/** Reads the documents that a plan leads to, and keeps those that the selector asks for. */
import type { DocumentRecord, Snapshot, StoredNode } from '../../database/contract.ts';
import type { RevId } from '../../documents/contract.ts';
import { metaText } from '../../documents/meta-text.ts';
import { writeDocument } from '../../documents/outgoing.ts';
import { toRevId } from '../../documents/revisions/revisions.ts';
import type { Pace } from '../../shared/turn.ts';
import { Projection } from '../selectors/field-texts.ts';
import type { Test } from '../selectors/selector-test.ts';
import type { FindQuery } from './find-query.ts';

/** A document that a walk came to. */
export interface Place {
  /** JSON text of the row's key; `null` for a walk over the documents. */
  readonly keyText: string;
  readonly record: DocumentRecord;
}

/** A document that is part of the answer. */
export interface Found {
  readonly keyText: string;
  readonly id: string;
  /** JSON text, of the fields that were asked for. */
  readonly text: string;
}

/** Bytes of bodies that are read at once, if there is more than one. */
const BODY_BYTES = 262_144;

export interface ReaderParts {
  readonly snapshot: Snapshot;
  readonly query: FindQuery;
  readonly test: Test;
  /** Whether the walk leads to nothing else than what is asked for. Asked of documents that were read. */
  readonly isDecided: () => boolean;
  /** Tests may take long: others have a turn in between. */
  readonly pace: Pace;
}

export class DocumentReader {
  /** Documents that were read. */
  examined = 0;
  readonly #parts: ReaderParts;
  readonly #projection: Projection | undefined;

  constructor(parts: ReaderParts) {
    const { fields } = parts.query;
    this.#parts = parts;
    this.#projection = fields === undefined ? undefined : new Projection(fields);
  }

  async *read(places: readonly Place[]): AsyncGenerator<Found, void, void> {
    const { snapshot, pace } = this.#parts;
    for (const part of bySize(places)) {
      const bodies = await snapshot.bodies(part.map(({ node }) => node));
      const isDecided = this.#parts.isDecided();
      for (const [index, { place, node }] of part.entries()) {
        const body = bodies[index];
        if (body === undefined) continue;
        this.examined++;
        if (pace.isDue) await pace.rest();
        const text = this.#textOf(place.record, node, body);
        if (!isDecided && !this.#parts.test(JSON.parse(text))) continue;
        const { id } = place.record;
        yield { keyText: place.keyText, id, text: this.#projection?.of(text) ?? text };
      }
    }
  }

  #textOf({ id, leaves }: DocumentRecord, winner: StoredNode, body: string): string {
    const isTold = this.#parts.query.conflicts && leaves.length > 1;
    const members = isTold ? metaText({ conflicts: losersOf(leaves) }) : '';
    return writeDocument({ id, rev: revOf(winner), deleted: false, body, members });
  }
}

interface LivePlace {
  readonly place: Place;
  readonly node: StoredNode;
}

/** Live documents, in parts that are not much larger than what a slow reader may hold. */
function* bySize(places: readonly Place[]): Generator<readonly LivePlace[], void, void> {
  let part: LivePlace[] = [];
  let bytes = 0;
  for (const place of places) {
    const [node] = place.record.leaves;
    if (node === undefined || node.deleted) continue;
    part.push({ place, node });
    bytes += node.body?.length ?? 0;
    if (bytes < BODY_BYTES) continue;
    yield part;
    part = [];
    bytes = 0;
  }
  if (part.length > 0) yield part;
}

function losersOf(leaves: readonly StoredNode[]): RevId[] {
  return leaves
    .slice(1)
    .filter(({ deleted }) => !deleted)
    .map(revOf);
}

function revOf({ generation, hash }: StoredNode): RevId {
  return toRevId(generation, hash);
}
