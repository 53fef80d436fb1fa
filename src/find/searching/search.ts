/** One run of a query: walks where its plan says, and gives what it finds, in the order that was asked for. */
import type { CompareKeys } from '../../collation/key-order.ts';
import type { DocumentRecord, Snapshot } from '../../database/contract.ts';
import type { DocId } from '../../documents/contract.ts';
import { isDesignId, parseDocId } from '../../documents/identifiers.ts';
import { Pace } from '../../shared/turn.ts';
import type { ViewReader, ViewRow } from '../../views/contract.ts';
import { KeyProjection, KeyTests } from '../planning/key-tests.ts';
import type { DocumentsPlan, IndexPlan } from '../planning/plan.ts';
import { planName } from '../planning/planner.ts';
import { EVERYTHING } from '../selectors/selector.ts';
import { createTest } from '../selectors/selector-test.ts';
import { type BookmarkPlace, invalidBookmark, readBookmark } from './bookmark.ts';
import type { FindQuery } from './find-query.ts';
import { DocumentReader, type Found, type Place } from './found-documents.ts';

/** Documents that are read at once, where it is not known how many of them will fit. */
const MAX_STEP = 200;
const MIN_STEP = 10;

export interface SearchParts {
  readonly query: FindQuery;
  readonly snapshot: Snapshot;
  readonly compare: CompareKeys;
}

export class Search {
  /** Rows that were looked at. */
  keysExamined = 0;
  readonly #parts: SearchParts;
  readonly #pace = new Pace();
  #reader: DocumentReader | undefined;
  #found = 0;
  /** Documents that the next step reads. */
  #step: number;

  constructor(parts: SearchParts) {
    const { skip, limit } = parts.query;
    this.#parts = parts;
    this.#step = Math.max(MIN_STEP, Math.min(skip + limit, MAX_STEP));
  }

  get documentsExamined(): number {
    return this.#reader?.examined ?? 0;
  }

  /** At most as many as are asked for, behind those that are to be skipped. */
  async *inIndex(plan: IndexPlan, index: ViewReader): AsyncGenerator<Found, void, void> {
    if (plan.isEmpty || this.#parts.query.limit === 0) return;
    const { query, compare, snapshot } = this.#parts;
    const keys = new KeyTests(query, plan.stored.index, compare);
    // What was written after the index was read may no longer be what its rows say.
    const { updateSeq } = snapshot;
    const areOneMoment = () => index.updateSeq === updateSeq && snapshot.updateSeq === updateSeq;
    const isDecided = keys.isComplete && areOneMoment();
    // As many rows as documents, then.
    if (isDecided) this.#step = Math.min(query.skip + query.limit, MAX_STEP);
    const projection = isDecided ? KeyProjection.of(query, plan.stored.index) : undefined;
    const rows = this.#rows(plan, index, keys);
    if (projection !== undefined) {
      yield* this.#cut(shownByKeys(rows, projection));
      return;
    }
    // Either may be taken back for its age, and go on with a later moment.
    this.#reader = this.#createReader(isDecided ? areOneMoment : () => false);
    yield* this.#cut(this.#read(this.#reader, rows, (part) => this.#placesOf(part)));
  }

  async *inDocuments(plan: DocumentsPlan): AsyncGenerator<Found, void, void> {
    if (plan.isEmpty || this.#parts.query.limit === 0) return;
    const isAll = this.#parts.query.selector === EVERYTHING;
    this.#reader = this.#createReader(() => isAll);
    const records = plan.ids === undefined ? this.#records(plan) : this.#listed(plan.ids);
    const toPlaces = (part: readonly DocumentRecord[]) => part.map((record) => ({ keyText: 'null', record }));
    yield* this.#cut(this.#read(this.#reader, records, toPlaces));
  }

  #createReader(isDecided: () => boolean): DocumentReader {
    const { query, snapshot, compare } = this.#parts;
    return new DocumentReader({
      snapshot,
      query,
      test: createTest(query.selector, compare),
      isDecided,
      pace: this.#pace,
    });
  }

  /** Rows whose keys pass. */
  async *#rows(plan: IndexPlan, index: ViewReader, keys: KeyTests): AsyncGenerator<readonly ViewRow[], void, void> {
    const { name } = plan.stored.index;
    const place = this.#placeToGoOn(plan);
    const rest = place === undefined ? {} : { start: place.key, startDocId: place.id };
    const { rows } = await index.rows(name, { ...plan.range, ...rest });
    for await (const batch of rows) {
      for (const part of this.#cutUp(batch)) {
        const passed: ViewRow[] = [];
        for (const row of part) {
          if (row.id !== place?.id && keys.passes(row.keyText)) passed.push(row);
          if (this.#pace.isDue) await this.#pace.rest();
        }
        yield passed;
      }
    }
  }

  async *#records(plan: DocumentsPlan): AsyncGenerator<readonly DocumentRecord[], void, void> {
    const place = this.#placeToGoOn(plan);
    for await (const batch of this.#parts.snapshot.rows(place === undefined ? plan.range : rangeBehind(plan, place))) {
      for (const part of this.#cutUp(batch)) {
        yield part.filter(({ id }) => !isDesignId(id)).map((row) => row.record());
        if (this.#pace.isDue) await this.#pace.rest();
      }
    }
  }

  /** The documents that have these ids. */
  async *#listed(ids: readonly string[]): AsyncGenerator<readonly DocumentRecord[], void, void> {
    const { query, snapshot } = this.#parts;
    const last = query.bookmark === undefined ? undefined : readBookmark(query.bookmark).id;
    const rest = ids.slice(last === undefined ? 0 : ids.indexOf(last) + 1).filter((id) => !isDesignId(id));
    for (const part of this.#cutUp(rest)) {
      const records = await snapshot.documents(part.flatMap(toDocId));
      yield records.filter((record) => record !== undefined);
    }
  }

  /** In steps, whose size may change from one to the next. */
  *#cutUp<T>(items: readonly T[]): Generator<readonly T[], void, void> {
    for (let from = 0; from < items.length; ) {
      const part = items.slice(from, from + this.#step);
      from += part.length;
      this.keysExamined += part.length;
      yield part;
    }
  }

  #placeToGoOn(plan: IndexPlan | DocumentsPlan): BookmarkPlace | undefined {
    const { bookmark } = this.#parts.query;
    if (bookmark === undefined) return undefined;
    const place = readBookmark(bookmark);
    if (place.plan !== planName(plan)) throw invalidBookmark(bookmark);
    return place;
  }

  /** Where much is read and little fits, more is read at once. */
  async *#read<T>(
    reader: DocumentReader,
    parts: AsyncGenerator<readonly T[], void, void>,
    toPlaces: (part: readonly T[]) => readonly Place[] | Promise<readonly Place[]>,
  ): AsyncGenerator<Found, void, void> {
    for await (const part of parts) {
      if (part.length > 0) yield* reader.read(await toPlaces(part));
      this.#step = Math.min(this.#step * 2, MAX_STEP);
    }
  }

  async #placesOf(rows: readonly ViewRow[]): Promise<readonly Place[]> {
    const records = await this.#parts.snapshot.documents(rows.map(({ id }) => id));
    const places: Place[] = [];
    for (const [index, record] of records.entries()) {
      const keyText = rows[index]?.keyText ?? 'null';
      if (record !== undefined) places.push({ keyText, record });
    }
    return places;
  }

  /** Leaves out what is to be skipped, and ends behind the last one that is asked for. */
  async *#cut(all: AsyncGenerator<Found, void, void>): AsyncGenerator<Found, void, void> {
    const { skip, limit } = this.#parts.query;
    for await (const found of all) {
      this.#found++;
      if (this.#found > skip) yield found;
      if (this.#found >= skip + limit) return;
    }
  }
}

async function* shownByKeys(
  parts: AsyncGenerator<readonly ViewRow[], void, void>,
  projection: KeyProjection,
): AsyncGenerator<Found, void, void> {
  for await (const rows of parts) {
    for (const { id, keyText, idText } of rows) yield { keyText, id, text: projection.write(keyText, idText) };
  }
}

/** Nothing where no document can have the id. */
function toDocId(id: string): DocId[] {
  try {
    return [parseDocId(id)];
  } catch {
    return [];
  }
}

function rangeBehind({ range, descending }: DocumentsPlan, { id }: BookmarkPlace): DocumentsPlan['range'] {
  return descending ? { ...range, end: id, endInclusive: false } : { ...range, start: id, startInclusive: false };
}
