/** How large an index is, and how far it is behind its database. */
import { useEffect, useState } from 'preact/hooks';
import { ask, type Json, type JsonObject, pathOf, withQuery } from '../server/client.ts';
import { changesBetween, infoOf } from '../server/databases.ts';

export interface IndexState {
  /** Bytes of its file, and of what it contains that is still needed; undefined if the server does not say. */
  readonly fileBytes: number | undefined;
  readonly dataBytes: number | undefined;
  /** Changes of the database that are not in it yet; undefined if the server's sequences can't be compared. */
  readonly behind: number | undefined;
  readonly isUpdating: boolean;
  /** Percent of the update that runs; undefined if none runs, or the user may not see it. */
  readonly progress: number | undefined;
  /** Documents that its map functions could not process. */
  readonly leftOut: number;
}

interface InfoMembers {
  readonly view_index?: {
    readonly disk_size?: number;
    readonly data_size?: number;
    readonly sizes?: { readonly file?: number; readonly active?: number };
    readonly update_seq?: Json;
    readonly updater_running?: boolean;
    readonly documents_left_out?: number;
  };
}

const POLL_MS = 2_000;

/** Reads the state of the index of a design document. `name`: without `_design/`. Nothing is built by it. */
export async function indexState(database: string, name: string, signal?: AbortSignal): Promise<IndexState> {
  const [{ view_index: index = {} }, { updateSeq }, progress] = await Promise.all([
    ask<InfoMembers>('GET', pathOf(database, `_design/${name}`, '_info'), { signal, quiet: true }),
    infoOf(database, signal),
    progressOf(database, name, signal),
  ]);
  return {
    fileBytes: index.sizes?.file ?? index.disk_size,
    dataBytes: index.sizes?.active ?? index.data_size,
    behind: changesBetween(index.update_seq, updateSeq),
    isUpdating: index.updater_running === true || progress !== undefined,
    progress,
    leftOut: index.documents_left_out ?? 0,
  };
}

/** Only admins may see the tasks: for others it is undefined. */
async function progressOf(
  database: string,
  name: string,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const tasks = await ask<readonly JsonObject[]>('GET', '_active_tasks', { signal, quiet: true }).catch(() => []);
  const task = tasks.find(
    ({ type, database: of, design_document }) =>
      type === 'indexer' && isDatabase(of, database) && design_document === `_design/${name}`,
  );
  return typeof task?.progress === 'number' ? task.progress : undefined;
}

/** Clusters name a part of a database: `shards/00000000-ffffffff/library.1700000000`. */
function isDatabase(of: Json | undefined, database: string): boolean {
  return of === database || (typeof of === 'string' && of.includes(`/${database}.`));
}

/** The state of the index, read every few seconds while the page is in sight. */
export function useIndexState(database: string, name: string) {
  const [state, setState] = useState<IndexState | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const [count, setCount] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    const read = () =>
      indexState(database, name, controller.signal).then(
        (found) => {
          setState(found);
          setFailure(undefined);
        },
        (error: unknown) => {
          if (!controller.signal.aborted) setFailure(error);
        },
      );
    void read();
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void read();
    }, POLL_MS);
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, [database, name, count]);
  return { state, failure, reload: () => setCount((former) => former + 1) };
}

/** Brings the index of a design document up to date: any of its views without rows. It ends when the index is complete. */
export async function buildViews(database: string, name: string, view: string): Promise<void> {
  await ask('GET', withQuery(pathOf(database, `_design/${name}`, '_view', view), { limit: 0 }));
}

/** Brings an index of selectors up to date. It ends when the index is complete. */
export async function buildSelectorIndex(
  database: string,
  name: string,
  index: string,
  fields: readonly string[],
): Promise<void> {
  const selector = Object.fromEntries(fields.map((field) => [field, { $gt: null }]));
  const query = { selector, use_index: [name, index], fields: ['_id'], limit: 1 };
  await ask('POST', pathOf(database, '_find'), { json: query });
}
