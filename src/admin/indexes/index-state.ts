/** How large an index is, and how far it is behind its database. */
import { useEffect, useState } from 'preact/hooks';
import { ask, type Json, type JsonObject, pathOf, withQuery } from '../server/client.ts';
import { changesBetween, infoOf } from '../server/databases.ts';
import { isAdmin, isMissingEndpoint, server } from '../server/session.ts';

export interface IndexState {
  /** Bytes of its file, and of what it contains that is still needed; undefined if the server does not say. */
  readonly fileBytes: number | undefined;
  readonly dataBytes: number | undefined;
  /** The sequence of the database up to which it reflects it; undefined if the server does not say. */
  readonly updateSeq: Json | undefined;
  /** Changes of the database that are not in it yet; undefined if the server's sequences can't be compared. */
  readonly behind: number | undefined;
  readonly isUpdating: boolean;
  /** Percent of the update that runs; undefined if none runs, or the user may not see it. */
  readonly progress: number | undefined;
  /** Documents that its map functions could not process. */
  readonly leftOut: number;
  /** The server says nothing about its indexes. */
  readonly isUnknown: boolean;
}

interface InfoMembers {
  readonly view_index?: {
    readonly disk_size?: number;
    readonly data_size?: number;
    readonly sizes?: { readonly file?: number; readonly active?: number };
    readonly update_seq?: Json;
    readonly updater_running?: boolean;
    readonly documents_left_out?: number;
    /** Clusters count them, since their sequences can't be compared. */
    readonly updates_pending?: { readonly total?: number };
  };
}

/** How often the state of an index is read while it is built, and otherwise. */
const BUILDING_MS = 1_000;
const IDLE_MS = 8_000;
/** What several indexes of a list ask within this time is asked once. */
const SHARED_MS = 500;

/** Reads the state of the index of a design document. `name`: without `_design/`. Nothing is built by it. */
export async function indexState(database: string, name: string, signal?: AbortSignal): Promise<IndexState> {
  const [info, { updateSeq }, progress] = await Promise.all([
    readInfo(database, name, signal),
    shared(`info ${database}`, () => infoOf(database)),
    progressOf(database, name),
  ]);
  const index = info?.view_index ?? {};
  return {
    fileBytes: index.sizes?.file ?? index.disk_size,
    dataBytes: index.sizes?.active ?? index.data_size,
    updateSeq: index.update_seq,
    behind: index.updates_pending?.total ?? changesBetween(index.update_seq, updateSeq),
    isUpdating: index.updater_running === true || progress !== undefined,
    progress,
    leftOut: index.documents_left_out ?? 0,
    isUnknown: info === undefined,
  };
}

/** Undefined if the server says nothing about its indexes. */
async function readInfo(database: string, name: string, signal?: AbortSignal): Promise<InfoMembers | undefined> {
  try {
    return await ask<InfoMembers>('GET', pathOf(database, `_design/${name}`, '_info'), { signal, quiet: true });
  } catch (failure) {
    if (server.value?.isSettee !== true && isMissingEndpoint(failure)) return undefined;
    throw failure;
  }
}

const answers = new Map<string, Promise<unknown>>();

function shared<T>(key: string, load: () => Promise<T>): Promise<T> {
  const former = answers.get(key);
  if (former !== undefined) return former as Promise<T>;
  const answer = load();
  answers.set(key, answer);
  setTimeout(() => answers.delete(key), SHARED_MS);
  return answer;
}

/** Only admins may see the tasks: for others it is undefined. */
async function progressOf(database: string, name: string): Promise<number | undefined> {
  if (!isAdmin.value) return undefined;
  const tasks = await shared('tasks', () =>
    ask<readonly JsonObject[]>('GET', '_active_tasks', { quiet: true }).catch((): readonly JsonObject[] => []),
  );
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

interface Following {
  /** A build was asked for. */
  readonly isBuilding: boolean;
  /** Another number: the state is read again at once. */
  readonly readAt: number;
  /** The state is read as often as during a build, while the index is behind. */
  readonly isFollowed: boolean;
}

/** The state of the index, read every few seconds while the page is in sight. */
export function useIndexState(database: string, name: string, { isBuilding, readAt, isFollowed }: Following) {
  const [state, setState] = useState<IndexState | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const [count, setCount] = useState(0);
  const isUpdating = isBuilding || state?.isUpdating === true || (isFollowed && (state?.behind ?? 0) > 0);
  useEffect(() => {
    const controller = new AbortController();
    const read = () =>
      indexState(database, name, controller.signal).then(
        (found) => {
          if (controller.signal.aborted) return;
          setState(found);
          setFailure(undefined);
        },
        (error: unknown) => {
          if (!controller.signal.aborted) setFailure(error);
        },
      );
    void read();
    const timer = setInterval(
      () => {
        if (document.visibilityState === 'visible') void read();
      },
      isUpdating ? BUILDING_MS : IDLE_MS,
    );
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, [database, name, count, isUpdating, readAt]);
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
