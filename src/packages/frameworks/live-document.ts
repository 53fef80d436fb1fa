import type { Database, GetOptions } from '../database-client/contract.ts';
import type { Stored } from '../interface/documents.ts';
import { type LiveState, LiveValue } from './live-value.ts';

export interface DocumentContent<T extends object> {
  /** Undefined if there is none, or it is deleted, or `status` is not `ready` yet. */
  readonly document: Stored<T> | undefined;
}

export type DocumentState<T extends object> = LiveState & DocumentContent<T>;

export interface DocumentQuestion {
  readonly id: string;
  readonly options?: GetOptions | undefined;
}

/** Options as one question with the id; no id, no question. */
export function documentQuestion(id: string | undefined, options?: GetOptions): DocumentQuestion | undefined {
  return id === undefined ? undefined : { id, options };
}

export class LiveDocument<T extends object> extends LiveValue<T, DocumentQuestion, DocumentContent<T>> {
  constructor(database: Database<T>, question: DocumentQuestion | undefined) {
    super(database, question, { document: undefined });
  }

  protected override async read({ id, options }: DocumentQuestion): Promise<DocumentContent<T>> {
    return { document: await this.database.get(id, options) };
  }

  protected override concerns(ids: ReadonlySet<string>, { id }: DocumentQuestion): boolean {
    return ids.has(id);
  }

  /** One document must not be taken for another. */
  protected override meanwhile(): DocumentContent<T> {
    return { document: undefined };
  }
}
