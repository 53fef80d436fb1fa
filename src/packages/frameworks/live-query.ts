import type { Database } from '../database-client/contract.ts';
import type { ViewOptions } from '../interface/lists.ts';
import type { FindQuery } from '../interface/selectors.ts';
import { type LiveState, LiveValue } from './live-value.ts';

export interface QueryContent<Doc> {
  /** In the order of the query's `sort`. A document that has not changed is the same object as before. */
  readonly documents: readonly Doc[];
  /** Begins the next page (docs/http/find.md#bookmarks). */
  readonly bookmark?: string;
  /** docs/http/find.md#warnings */
  readonly warning?: string;
}

export type QueryState<Doc> = LiveState & QueryContent<Doc>;

export interface ViewContent<Row> {
  /** A row that has not changed is the same object as before. */
  readonly rows: readonly Row[];
}

export type ViewState<Row> = LiveState & ViewContent<Row>;

export interface ViewQuestion {
  /** `design/name` */
  readonly name: string;
  readonly options?: ViewOptions | undefined;
}

/** Any change may concern a result, also of a document that is not in it. */
abstract class LiveList<T extends object, Question, Content extends object> extends LiveValue<T, Question, Content> {
  #known: ReadonlyMap<string, object> = new Map();

  protected override concerns(): boolean {
    return true;
  }

  /** Frameworks skip elements whose objects are the same. */
  protected keepKnown<Row extends object>(rows: readonly Row[]): Row[] {
    const known = this.#known as ReadonlyMap<string, Row>;
    const texts = rows.map((row) => JSON.stringify(row));
    const kept = rows.map((row, index) => known.get(texts[index] ?? '') ?? row);
    this.#known = new Map(kept.map((row, index) => [texts[index] ?? '', row]));
    return kept;
  }
}

export class LiveQuery<T extends object, Doc extends object> extends LiveList<T, FindQuery<T>, QueryContent<Doc>> {
  constructor(database: Database<T>, query: FindQuery<T> | undefined) {
    super(database, query, { documents: [] });
  }

  protected override async read(query: FindQuery<T>): Promise<QueryContent<Doc>> {
    const { docs, bookmark, warning } = await this.database.find(query as never);
    return { documents: this.keepKnown(docs as readonly Doc[]), bookmark, ...(warning !== undefined && { warning }) };
  }
}

export class LiveView<T extends object, Row extends object> extends LiveList<T, ViewQuestion, ViewContent<Row>> {
  constructor(database: Database<T>, question: ViewQuestion | undefined) {
    super(database, question, { rows: [] });
  }

  protected override async read({ name, options }: ViewQuestion): Promise<ViewContent<Row>> {
    const { rows } = await this.database.view(name, options as never);
    return { rows: this.keepKnown(rows as unknown as readonly Row[]) };
  }
}

export function viewQuestion(name: string | undefined, options?: ViewOptions): ViewQuestion | undefined {
  return name === undefined ? undefined : { name, options };
}
