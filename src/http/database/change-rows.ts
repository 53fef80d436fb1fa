/** The text of changes (docs/http/changes.md#rows-of-changes). */

import { must } from '../../base/shared/assert.ts';
import type { Feed, FeedEvent, SelectedChange } from '../../database/changes/contract.ts';
import type { DocumentRecord, Snapshot } from '../../database/store/contract.ts';
import { byBytes, readAgain } from '../documents/lists/body-batches.ts';
import { MAX_ATTACHED_BYTES } from '../documents/lists/document-list.ts';
import { CONFLICTS_ALONE, documentText, metaOf } from '../shown/document-rendering.ts';
import {
  isLong,
  LONG_BYTES,
  type ShownRevision,
  shownBytes,
  shownPieces,
  shownTexts,
} from '../shown/shown-revision.ts';
import type { ChangeParameters } from './change-parameters.ts';

interface ShownRow {
  readonly seq: number;
  /** JSON text. */
  readonly text: string;
}

/** A row that is too long to be built as a whole: its JSON text in pieces. */
interface LongRow {
  readonly seq: number;
  readonly pieces: AsyncIterable<string>;
}

type ChangesEvent = Extract<FeedEvent, { readonly type: 'changes' }>;

type ShownRows = readonly ShownRow[] | LongRow;

export function isLongRow(rows: ShownRows): rows is LongRow {
  return 'pieces' in rows;
}

/** A change with its document as it is shown; undefined if there is none. */
interface FoundChange {
  readonly change: SelectedChange;
  readonly shown: ShownRevision | undefined;
}

export class ChangeRows {
  /** Whether a row is partly written: nothing else may be sent then. */
  isInside = false;
  readonly #includeDocs: boolean;
  readonly #show: Pick<ShownRevision, 'meta' | 'attachments'>;

  constructor({ includeDocs, conflicts, attachments, attEncodingInfo }: ChangeParameters) {
    this.#includeDocs = includeDocs;
    const hasFlags = attachments || attEncodingInfo;
    this.#show = {
      meta: conflicts ? CONFLICTS_ALONE : undefined,
      attachments: hasFlags ? { content: attachments, since: [], encodingInfo: attEncodingInfo } : undefined,
    };
  }

  /**
   * The rows of an event of that feed, which tells those again whose documents can't be read since the database was closed. A row that is sent in
   * pieces can't be told again.
   */
  async *of(feed: Pick<Feed, 'takeBack'>, { changes, snapshot }: ChangesEvent): AsyncGenerator<ShownRows, void, void> {
    let used = 0;
    try {
      for await (const some of this.#rows(changes, snapshot)) {
        yield some;
        used += isLongRow(some) ? 1 : some.length;
      }
    } catch (error) {
      await feed.takeBack(used, error);
    }
  }

  /** Some at a time: no more than may wait for a slow reader. */
  async *#rows(changes: readonly SelectedChange[], snapshot: Snapshot): AsyncGenerator<ShownRows, void, void> {
    if (!this.#includeDocs) {
      for (const some of byBytes(changes, ({ revs }) => revs.length * REVISION_BYTES)) {
        const [first] = some;
        if (first !== undefined && hasMany(first)) yield { seq: first.row.seq, pieces: this.#manyRevisions(first) };
        else yield some.map((change) => ({ seq: change.row.seq, text: rowText(change, undefined) }));
      }
      return;
    }
    for await (const found of this.#find(changes, snapshot)) {
      for (const some of byBytes(found, bytesOf)) {
        const [first] = some;
        if (some.length === 1 && first?.shown !== undefined && (isLong(first.shown) || hasMany(first.change))) {
          yield { seq: first.change.row.seq, pieces: this.#pieces(first.change, first.shown, snapshot) };
          continue;
        }
        const documents = await readAgain(async (isAgain) =>
          this.#documents(isAgain ? await this.#anew(some, snapshot) : some, snapshot),
        );
        yield some.map(({ change }, index) => ({ seq: change.row.seq, text: rowText(change, must(documents[index])) }));
      }
    }
  }

  async *#pieces(change: SelectedChange, shown: ShownRevision, snapshot: Snapshot): AsyncGenerator<string, void, void> {
    this.isInside = true;
    yield* rowStart(change);
    yield ',"doc":';
    yield* shownPieces(snapshot, shown, MAX_ATTACHED_BYTES);
    yield '}';
    this.isInside = false;
  }

  async *#manyRevisions(change: SelectedChange): AsyncGenerator<string, void, void> {
    this.isInside = true;
    yield* rowStart(change);
    yield '}';
    this.isInside = false;
  }

  /** Returns the winners' texts; `null` for one that can't be read. */
  async #documents(found: readonly FoundChange[], snapshot: Snapshot): Promise<string[]> {
    const known = found.flatMap(({ shown }) => (shown === undefined ? [] : [shown]));
    const texts = await shownTexts(snapshot, known);
    let next = 0;
    return found.map(({ shown }) => (shown === undefined ? 'null' : (texts[next++] ?? emptyText(shown))));
  }

  async *#find(
    changes: readonly SelectedChange[],
    snapshot: Snapshot,
  ): AsyncGenerator<readonly FoundChange[], void, void> {
    let from = 0;
    for await (const records of snapshot.documentBatches(changes.map(({ row }) => row.id))) {
      const first = from;
      yield records.map((record, index) => ({ change: must(changes[first + index]), shown: this.#shown(record) }));
      from += records.length;
    }
  }

  async #anew(some: readonly FoundChange[], snapshot: Snapshot): Promise<readonly FoundChange[]> {
    const again: FoundChange[] = [];
    const changes = some.map(({ change }) => change);
    for await (const found of this.#find(changes, snapshot)) again.push(...found);
    return again;
  }

  #shown(record: DocumentRecord | undefined): ShownRevision | undefined {
    const node = record?.leaves[0];
    return record === undefined || node === undefined ? undefined : { record, node, ...this.#show };
  }
}

/** The text for a body that is not kept. */
function emptyText({ record, node, meta }: ShownRevision): string {
  if (!node.deleted) return 'null';
  return documentText(record, node, '{}', meta === undefined ? undefined : metaOf(record, node, meta));
}

/** How many revisions are written at a time. A document may have a hundred thousand. */
const REVISIONS_AT_ONCE = 1_024;
/** What a revision counts, so that rows with more revisions in total are written one after another. */
const REVISION_BYTES = LONG_BYTES / REVISIONS_AT_ONCE;

function bytesOf({ change, shown }: FoundChange): number {
  return change.revs.length * REVISION_BYTES + (shown === undefined ? 0 : shownBytes(shown));
}

function hasMany({ revs }: SelectedChange): boolean {
  return revs.length > REVISIONS_AT_ONCE;
}

/** The text of a row without its document and closing brace, some revisions at a time. */
function* rowStart({ row, revs }: SelectedChange): Generator<string, void, void> {
  yield `{"seq":${row.seq},"id":${JSON.stringify(row.id)},"changes":[`;
  for (let from = 0; from < revs.length; from += REVISIONS_AT_ONCE) {
    const some = revs.slice(from, from + REVISIONS_AT_ONCE).map((rev) => `{"rev":${JSON.stringify(rev)}}`);
    yield `${from > 0 ? ',' : ''}${some.join(',')}`;
  }
  yield `]${row.deleted ? ',"deleted":true' : ''}`;
}

function rowText({ row, revs }: SelectedChange, doc: string | undefined): string {
  const changes = revs.map((rev) => `{"rev":${JSON.stringify(rev)}}`).join(',');
  const deleted = row.deleted ? ',"deleted":true' : '';
  const docMember = doc === undefined ? '' : `,"doc":${doc}`;
  return `{"seq":${row.seq},"id":${JSON.stringify(row.id)},"changes":[${changes}]${deleted}${docMember}}`;
}
