/** Writes what an app has changed in a collection, with the revisions that the changes are based on. */
import type { Database } from '../../database-client/contract.ts';
import type { Deletion, Draft, Refused, Written } from '../../interface/documents.ts';
import type { ConflictingChange, Mutation, Resolution, Row } from './contract.ts';
import { isSame, mergeChange, toDraft } from './merge.ts';
import { conflictOf, refusalOf } from './refusals.ts';
import type { SyncRun } from './sync-run.ts';

/** Documents in one request. */
const MAX_WRITES = 500;
/** How often a conflict is resolved again if the document changes meanwhile. */
const MAX_RESOLUTIONS = 10;
/** Own revisions that are remembered. A change that is based on a forgotten one is resolved as a conflict. */
const MAX_REVISIONS = 10_000;

export interface WriterOptions<T extends object> {
  readonly database: Database<T>;
  readonly conflicts: boolean;
  readonly onConflict: ((change: ConflictingChange<T>) => Resolution<T> | Promise<Resolution<T>>) | undefined;
}

/** Undefined: the database has that already. */
type Outcome = { readonly rev: string | undefined } | { readonly error: unknown };

type Sent<T extends object> = Draft<T, string | Blob> | Deletion<T>;
type Result = Written | Refused | { readonly error: unknown };

export class Writer<T extends object> {
  readonly #options: WriterOptions<T>;
  /** The last write of each document that has no response yet. */
  readonly #last = new Map<string, Promise<unknown>>();
  /** The revision that an own write has made of another one, so that changes which follow one another quickly are no conflicts. */
  readonly #successors = new Map<string, string>();

  constructor(options: WriterOptions<T>) {
    this.#options = options;
  }

  /** Resolves when all is written, and shown by the run, if there is one. Throws the first refusal, when the others have been written. */
  async write(mutations: readonly Mutation<T>[], run: SyncRun<T> | undefined): Promise<void> {
    const ids = mutations.map(({ modified }) => modified._id);
    const former = ids.map((id) => this.#last.get(id));
    const own = this.#writeAfter(Promise.all(former), mutations, run);
    const settled = own.then(
      () => undefined,
      () => undefined,
    );
    for (const id of ids) this.#last.set(id, settled);
    try {
      const { outcomes, shown } = await own;
      await Promise.all(shown);
      for (const outcome of outcomes) if ('error' in outcome) throw outcome.error;
    } finally {
      for (const id of ids) if (this.#last.get(id) === settled) this.#last.delete(id);
    }
  }

  async #writeAfter(former: Promise<unknown>, mutations: readonly Mutation<T>[], run: SyncRun<T> | undefined) {
    await former;
    const ids = mutations.map(({ modified }) => modified._id);
    run?.beginWrite(ids);
    let outcomes: Outcome[] = [];
    const shown: Promise<void>[] = [];
    try {
      outcomes = await this.#writeAll(mutations);
      for (const [index, outcome] of outcomes.entries()) {
        const id = ids[index];
        if (run === undefined || id === undefined || 'error' in outcome) continue;
        shown.push(outcome.rev === undefined ? run.read(id) : run.shown(id));
      }
    } finally {
      run?.endWrite(ids);
    }
    return { outcomes, shown };
  }

  async #writeAll(mutations: readonly Mutation<T>[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (let from = 0; from < mutations.length; from += MAX_WRITES) {
      const part = mutations.slice(from, from + MAX_WRITES);
      const results = await this.#send(part.map((mutation) => this.#documentOf(mutation)));
      for (const [index, mutation] of part.entries()) outcomes.push(await this.#outcomeOf(mutation, results[index]));
    }
    return outcomes;
  }

  /** Documents with Blobs have a request each, since a bulk write takes none. So has a single document, whose refusal says more. */
  async #send(documents: readonly Sent<T>[]): Promise<(Result | undefined)[]> {
    const results = new Map<Sent<T>, Result | undefined>();
    const others = documents.filter((document) => !hasBlob(document)) as (Draft<T> | Deletion<T>)[];
    if (others.length > 1) {
      const written = await this.#options.database
        .bulk(others)
        .catch((error: unknown) => others.map(() => ({ error })));
      for (const [index, document] of others.entries()) results.set(document, written[index]);
    }
    for (const document of documents) {
      if (!results.has(document)) results.set(document, await this.#put(document));
    }
    return documents.map((document) => results.get(document));
  }

  async #put(document: Sent<T>): Promise<Result> {
    try {
      const result = await this.#options.database.put(document as Draft<T> & { readonly _id: string });
      return result.ok ? result : { ...result, ok: undefined, rev: '' };
    } catch (error) {
      return { error };
    }
  }

  #documentOf({ type, original, modified }: Mutation<T>): Sent<T> {
    const { _rev, ...content } = toDraft<T>(modified);
    if (type === 'insert') return content as Draft<T>;
    const base = ('_rev' in original && typeof original._rev === 'string' ? original._rev : undefined) ?? _rev;
    const _id = modified._id;
    const rev = this.#newest(_id, base ?? '');
    if (type === 'delete') return { _id, _rev: rev, _deleted: true } as Deletion<T>;
    return { ...content, ...(rev !== '' && { _rev: rev }) } as Draft<T>;
  }

  async #outcomeOf(mutation: Mutation<T>, result: Result | undefined): Promise<Outcome> {
    const { type, original, modified } = mutation;
    if (result === undefined) return { error: conflictOf('The database did not answer for this document.') };
    if ('ok' in result && result.ok) {
      const base = type === 'insert' || !('_rev' in original) ? '' : String(original._rev ?? '');
      this.#remember(modified._id, this.#newest(modified._id, type === 'insert' ? undefined : base), result.rev);
      return { rev: result.rev };
    }
    if (!('reason' in result)) return { error: result.error };
    if (result.error !== 'conflict') return { error: refusalOf(result) };
    return this.#resolve(mutation, result.reason);
  }

  async #resolve({ type, original, modified }: Mutation<T>, reason: unknown): Promise<Outcome> {
    const { database, conflicts, onConflict = mergeChange } = this.#options;
    const id = modified._id;
    try {
      for (let count = 0; count < MAX_RESOLUTIONS; count++) {
        const stored = await database.get(id, conflicts ? { conflicts } : {});
        const based = type === 'insert' ? undefined : (original as Row<T>);
        const resolution = await onConflict({ type, id, original: based, modified, stored });
        if (resolution === undefined) return { error: conflictOf(reason) };
        const isDeletion = '_deleted' in resolution;
        const { _rev, ...draft } = toDraft<T>(resolution);
        const document = { ...draft, _id: id, ...(stored && { _rev: stored._rev }) };
        if (stored === undefined ? isDeletion : isSame(document, toDraft<T>(stored))) return { rev: undefined };
        const result = await database.put(document as Draft<T> & { readonly _id: string });
        if (!result.ok) continue;
        const base = type === 'insert' || !('_rev' in original) ? '' : String(original._rev ?? '');
        this.#remember(id, base, result.rev);
        return { rev: result.rev };
      }
      return { error: conflictOf(reason) };
    } catch (error) {
      return { error };
    }
  }

  /** The own revision that has come of this one; itself if there is none. */
  #newest(id: string, rev: string | undefined): string {
    let newest = rev ?? '';
    for (let next = rev; next !== undefined; next = this.#successors.get(`${id}\n${newest}`)) newest = next;
    return newest;
  }

  #remember(id: string, rev: string, successor: string): void {
    this.#successors.set(`${id}\n${rev}`, successor);
    for (const key of this.#successors.keys()) {
      if (this.#successors.size <= MAX_REVISIONS) return;
      this.#successors.delete(key);
    }
  }
}

function hasBlob({ _attachments = {} }: { readonly _attachments?: Readonly<Record<string, object>> }): boolean {
  return Object.values(_attachments).some((attachment) => 'data' in attachment && attachment.data instanceof Blob);
}
