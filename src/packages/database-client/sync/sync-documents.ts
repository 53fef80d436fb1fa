/** The documents of `_replicator` that request a sync: one for each direction, whose id follows from the database, the URL and the direction. */
import type { SessionAnswer } from '../../interface/server.ts';
import type { Database } from '../contract.ts';
import type { Ask } from '../requests.ts';
import { isRefusal } from '../requests.ts';
import type { SyncDirection, SyncOptions, SyncSelection } from './contract.ts';

type Members = Readonly<Record<string, unknown>>;

/** The database `_replicator` of the local service. */
export type ReplicatorDatabase = Database<Members>;

/** A replication document and its id, without what the service adds. */
export interface WantedDocument {
  readonly _id: string;
  readonly members: Members;
}

/** What a sync is of. */
export interface SyncEnds {
  /** Name of the local database. */
  readonly name: string;
  /** Of the database on the server; it may have a name and a password. */
  readonly url: URL;
}

/** Attempts between which others wrote the same document. */
const MAX_ATTEMPTS = 20;

/** Returns the id without secrets: it is shown in lists. */
export function documentId({ name, url }: SyncEnds, direction: SyncDirection): string {
  return `sync:${direction}:${name}:${url.origin}${url.pathname}`;
}

export function wantedDocument(ends: SyncEnds, direction: SyncDirection, options: SyncOptions): WantedDocument {
  const { auth, headers, create_target, live = true } = options;
  const local = ends.name;
  const { href } = ends.url;
  const remote = auth || headers ? { url: href, ...(auth && { auth }), ...(headers && { headers }) } : href;
  const isPush = direction === 'push';
  return {
    _id: documentId(ends, direction),
    members: {
      source: isPush ? local : remote,
      target: isPush ? remote : local,
      continuous: live,
      ...(isPush && create_target && { create_target }),
      ...selectionOf(options[direction] ?? options),
    },
  };
}

/** Users who are not admins have to say who they are (docs/http/replication.md#writing-replication-documents). */
export async function asUser(ask: Ask, wanted: WantedDocument): Promise<WantedDocument> {
  const { userCtx } = await ask<SessionAnswer>('GET', '/_session');
  const { name, roles } = userCtx;
  if (roles.includes('_admin')) return wanted;
  return { ...wanted, members: { ...wanted.members, user_ctx: { name, roles } } };
}

/**
 * Writes the document, unless it requests the same already. One that is there is replaced if it requests something else, if its replication is
 * complete, and if it failed. Secrets that the service does not show are written again: the replication goes on with them.
 */
export function writeDocument(replicator: ReplicatorDatabase, { _id, members }: WantedDocument): Promise<void> {
  return untilDone(_id, async () => {
    const current = await getDocument(replicator, _id);
    if (current === undefined) return (await replicator.put({ ...members, _id })).ok;
    if (requestsSame(current, members)) {
      return JSON.stringify(current).includes(SEALED) ? (await replicator.put({ ...current, ...members })).ok : true;
    }
    // A document whose replication runs can be deleted, but not changed.
    await removeRevision(replicator, current);
    return false;
  });
}

export function removeDocument(replicator: ReplicatorDatabase, id: string): Promise<void> {
  return untilDone(id, async () => {
    const current = await getDocument(replicator, id);
    return current === undefined || removeRevision(replicator, current);
  });
}

/** Undefined if there is none. The service creates `_replicator` with the first document. */
export function getDocument(replicator: ReplicatorDatabase, id: string) {
  return unlessMissing(replicator.get(id));
}

/** The service writes its state into the document: then the revision is another one, and the result false. */
async function removeRevision(
  replicator: ReplicatorDatabase,
  document: { readonly _id: string; readonly _rev: string },
): Promise<boolean> {
  return (await unlessMissing(replicator.remove(document)))?.ok ?? true;
}

async function unlessMissing<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isRefusal(error, 404)) return undefined;
    throw error;
  }
}

async function untilDone(id: string, attempt: () => Promise<boolean>): Promise<void> {
  for (let count = 0; count < MAX_ATTEMPTS; count++) if (await attempt()) return;
  throw new Error(`The document ${id} of _replicator changes again and again. Use the same options in all tabs.`);
}

function selectionOf({ doc_ids, selector, filter, query_params, design_docs = false }: SyncSelection): Members {
  return Object.fromEntries(
    Object.entries({ doc_ids, selector, filter, query_params, design_docs }).filter(([, value]) => value !== undefined),
  );
}

function requestsSame(current: Members, members: Members): boolean {
  const state = current['_replication_state'];
  if (state === 'completed' || state === 'error') return false;
  const written = Object.entries(current).filter(([name]) => name !== 'owner' && !name.startsWith('_'));
  return isSame(Object.fromEntries(written), members);
}

/** Begins a text that the service shows in place of a secret. */
const SEALED = '-sealed-';
/** In a URL it ends before the host. */
const SEALED_TEXT = /-sealed-[^@]*/;

function isSame(shown: unknown, wanted: unknown): boolean {
  if (typeof shown === 'string' && typeof wanted === 'string') return isSameText(shown, wanted);
  if (!isRecord(shown) || !isRecord(wanted)) return JSON.stringify(shown) === JSON.stringify(wanted);
  const names = new Set([...Object.keys(shown), ...Object.keys(wanted)]);
  return [...names].every((name) => isSame(shown[name], wanted[name]));
}

function isSameText(shown: string, wanted: string): boolean {
  const [start = '', end] = shown.split(SEALED_TEXT);
  return end === undefined ? shown === wanted : wanted.startsWith(start) && wanted.endsWith(end);
}

function isRecord(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
