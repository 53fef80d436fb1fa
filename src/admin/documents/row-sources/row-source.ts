/** Rows of the list, and where they come from. */
import type { JsonObject } from '../../server/json.ts';
import type { Step } from './walk.ts';

export interface SourceRow {
  readonly id: string;
  readonly rev: string;
  /** Only if it was asked for. */
  readonly doc: JsonObject | undefined;
  /** Whether other live revisions are there beside this one; undefined: nobody has asked. */
  readonly isInConflict?: boolean | undefined;
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

/** How far a source is that looks at many documents to find those of a page. */
export interface Search {
  /** Documents that it has looked at, from the beginning of the list on. */
  readonly looked: number;
  /** Documents that it looks at in all; undefined: the server does not say. */
  readonly of: number | undefined;
}

export interface RowSource {
  /** Pages can be read in any order, by `skip`. */
  readonly isRandom: boolean;
  /** `tell`: called with the rows of the page that are found so far, by sources that search. */
  read(
    wish: PageWish,
    signal: AbortSignal,
    tell?: (rows: readonly SourceRow[], search: Search) => void,
  ): Promise<SourcePage>;
}
