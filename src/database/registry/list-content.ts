/** What the list of databases holds: local documents of a database (`DatabaseList`). */
import type { DocId } from '../documents/contract.ts';
import type { Database } from '../store/contract.ts';

const NAME_PREFIX = '_local/database/';
export const SERVER_KEY = '_local/server' as DocId;
const NOTE_PREFIX = '_local/note/';
export const SETTINGS_KEY = '_local/settings' as DocId;

/** What the list contains about one database. */
export interface Listed {
  readonly file: string;
  readonly rev: string;
}

/** The content of the document of one name. */
export interface StoredEntry {
  /** Undefined for a name whose database was deleted. */
  readonly file?: string | undefined;
  /** Files of deleted databases of this name that may still exist and must be removed. */
  readonly removed?: readonly string[] | undefined;
}

export interface Removed {
  readonly files: readonly string[];
  readonly rev: string;
}

/** A kept text, and the revision of the document that holds it. */
export interface KeptText {
  readonly text: string;
  readonly rev: string;
}

export interface ListContent {
  /** By name. */
  readonly entries: Map<string, Listed>;
  /** By name. */
  readonly removed: Map<string, Removed>;
  /** Undefined in a list whose creation was interrupted. */
  readonly serverUuid: string | undefined;
  readonly settings: KeptText | undefined;
  /** By name. */
  readonly notes: Map<string, string>;
  readonly noteRevs: Map<string, string>;
}

export function listId(name: string): DocId {
  return `${NAME_PREFIX}${name}` as DocId;
}

export function noteId(name: string): DocId {
  return `${NOTE_PREFIX}${name}` as DocId;
}

/** Reads all of it from one snapshot. */
export async function readListContent(database: Pick<Database, 'snapshot'>): Promise<ListContent> {
  const entries = new Map<string, Listed>();
  const removed = new Map<string, Removed>();
  const notes = new Map<string, string>();
  const noteRevs = new Map<string, string>();
  let serverUuid: string | undefined;
  let settings: KeptText | undefined;
  const snapshot = database.snapshot();
  try {
    for await (const locals of snapshot.locals({})) {
      for (const { id, rev, body } of locals) {
        if (id === SERVER_KEY) serverUuid = (JSON.parse(body) as { uuid: string }).uuid;
        if (id === SETTINGS_KEY) settings = { text: body, rev };
        if (id.startsWith(NOTE_PREFIX)) {
          const name = id.slice(NOTE_PREFIX.length);
          notes.set(name, body);
          noteRevs.set(name, rev);
        }
        if (!id.startsWith(NAME_PREFIX)) continue;
        const { file, removed: files = [] } = JSON.parse(body) as StoredEntry;
        const name = id.slice(NAME_PREFIX.length);
        if (file !== undefined) entries.set(name, { file, rev });
        if (files.length > 0) removed.set(name, { files, rev });
      }
    }
  } finally {
    snapshot.release();
  }
  return { entries, removed, serverUuid, settings, notes, noteRevs };
}
