/** Rows of the list, and where they come from. */
import type { JsonObject } from '../server/json.ts';
import type { Step } from './walk.ts';

export interface SourceRow {
  readonly id: string;
  readonly rev: string;
  /** Only if it was asked for. */
  readonly doc: JsonObject | undefined;
}

export interface SourcePage extends Step<SourceRow> {
  /** Documents that match; undefined: it is not known without counting. */
  readonly total: number | undefined;
}

export interface PageWish {
  readonly limit: number;
  readonly withDocs: boolean;
  /** Where the page begins: after so many rows, or at the `next` of another page. Neither: at the beginning. */
  readonly skip?: number;
  readonly cursor?: string | undefined;
}

export interface RowSource {
  /** Pages can be read in any order, by `skip`. */
  readonly isRandom: boolean;
  read(wish: PageWish, signal: AbortSignal): Promise<SourcePage>;
}
