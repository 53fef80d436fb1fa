/**
 * The documents in conflict. Servers have no list of them: the page reads the changes of all documents, each with its leaves, and looks at
 * those documents that have several. It keeps only the documents in conflict of one page.
 */
import { ask, type Json, type JsonObject, pathOf, withQuery } from '../../server/client.ts';
import { toRead } from '../../server/documents.ts';
import type { RowSource, SourceRow } from './row-source.ts';

/** Changes of one request, which has their ids and revisions. */
const MAX_CHANGES = 2_000;
/** Documents of one request, which has their bodies. */
const MAX_DOCUMENTS = 50;

interface Change {
  readonly seq: Json;
  readonly id: string;
  readonly deleted?: boolean;
  /** The leaves, deleted ones too. */
  readonly changes: readonly { readonly rev: string }[];
}

interface ChangePage {
  readonly results: readonly Change[];
  readonly last_seq: Json;
  /** Changes after these; not all servers count them. */
  readonly pending?: Json;
}

/** The rows are in the order of the documents' last changes. */
export function conflictSource(database: string): RowSource {
  return {
    isRandom: false,
    async read({ limit, withDocs, cursor }, signal, tell) {
      const found = new Map<string, SourceRow>();
      const pageTo = (next: string | undefined) => ({ rows: [...found.values()], next, total: undefined });
      let { since, looked } = placeOf(cursor);
      for (let isFirst = true; ; isFirst = false) {
        const { results, last_seq, pending } = await readChanges(database, since, isFirst, signal);
        const of = typeof pending === 'number' ? looked + results.length + pending : undefined;
        for (const part of partsOf(results)) {
          const rows = await readConflicts(database, part, signal);
          for (const change of part) {
            const row = rows.get(change.id);
            // A document that is changed in the meantime comes twice.
            if (row === undefined || found.has(change.id)) continue;
            found.set(change.id, withDocs ? row : { ...row, doc: undefined });
            if (found.size === limit) return pageTo(cursorOf(change.seq, looked + results.indexOf(change) + 1));
          }
          tell?.([...found.values()], { looked, of });
        }
        if (results.length < MAX_CHANGES || pending === 0) return pageTo(undefined);
        [since, looked] = [last_seq, looked + results.length];
        tell?.([...found.values()], { looked, of });
      }
    },
  };
}

/** Also has the number of documents before it, so that the progress goes on from there. */
function cursorOf(seq: Json, looked: number): string {
  return `${looked} ${seq}`;
}

function placeOf(cursor: string | undefined): { readonly since: Json; readonly looked: number } {
  if (cursor === undefined) return { since: 0, looked: 0 };
  const [looked, since = '0'] = cursor.split(' ', 2);
  return { since, looked: Number(looked) };
}

function readChanges(database: string, since: Json, isFirst: boolean, signal: AbortSignal): Promise<ChangePage> {
  const path = withQuery(pathOf(database, '_changes'), { style: 'all_docs', since, limit: MAX_CHANGES });
  return ask<ChangePage>('GET', path, { signal, quiet: !isFirst });
}

/** Documents that may be in conflict, as many at a time as a request has: a leaf may be deleted, which only the document tells. */
function partsOf(results: readonly Change[]): readonly (readonly Change[])[] {
  const several = results.filter(({ deleted, changes }) => deleted !== true && changes.length > 1);
  const count = Math.ceil(several.length / MAX_DOCUMENTS);
  return Array.from({ length: count }, (_, at) => several.slice(at * MAX_DOCUMENTS, (at + 1) * MAX_DOCUMENTS));
}

/** Those of the documents that are in conflict, by their ids. */
async function readConflicts(
  database: string,
  changes: readonly Change[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, SourceRow>> {
  const path = withQuery(pathOf(database, '_all_docs'), { include_docs: true, conflicts: true });
  type Row = { readonly id?: string; readonly value?: { readonly rev: string }; readonly doc?: JsonObject | null };
  const json = { keys: changes.map(({ id }) => id) };
  const { rows } = await ask<{ readonly rows: readonly Row[] }>('POST', path, { json, signal, quiet: true });
  return new Map(
    rows.flatMap(({ id, value, doc }): readonly (readonly [string, SourceRow])[] => {
      const read = toRead(doc ?? undefined, true);
      if (id === undefined || value === undefined || read.isInConflict !== true) return [];
      return [[id, { id, rev: value.rev, ...read }]];
    }),
  );
}
