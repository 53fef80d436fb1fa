/**
 * The documents that a replication could not copy (docs/http/replication.md#refused-documents), and how they are retried: by a separate
 * replication of only these documents.
 */

import { isObject, ownMember } from '../../base/json/objects.ts';
import type { Endpoint, RefusedDocument, Replication, ReplicatorHost } from '../contract.ts';
import type { ReplicationId } from './replication-id.ts';
import { assertRights } from './rights.ts';

export interface Refusals {
  /** Those that are named. */
  readonly documents: readonly RefusedDocument[];
  /** Of all. */
  readonly count: number;
}

const NONE: Refusals = { documents: [], count: 0 };

/** The first of them by name, and the number of all. */
export class RefusedLedger {
  readonly #most: number;
  readonly #documents = new Map<string, RefusedDocument>();
  readonly #ids = new Set<string>();
  #notNamed = 0;

  /** `former`: what is known from before. */
  constructor(most: number, { documents, count } = NONE) {
    this.#most = most;
    this.#notNamed = Math.max(0, count - documents.length);
    for (const document of documents) this.add(document);
  }

  /** A revision that was named before is not counted again. */
  add(document: RefusedDocument): void {
    const key = JSON.stringify([document.id, document.rev]);
    if (this.#documents.has(key) || this.#documents.size < this.#most) {
      this.#documents.set(key, document);
      this.#ids.add(document.id);
    } else this.#notNamed++;
  }

  /** Removes what the source has replaced: it has the document in these revisions only. Returns whether there was any. */
  supersede(id: string, revs: readonly string[]): boolean {
    if (!this.#ids.has(id)) return false;
    const count = this.#documents.size;
    for (const [key, one] of this.#documents) if (one.id === id && !revs.includes(one.rev)) this.#documents.delete(key);
    return this.#documents.size < count;
  }

  /** They were retried, all of them if `ids` is undefined; `again` holds what was refused again. */
  settle(ids: readonly string[] | undefined, again: RefusedLedger): void {
    const tried = new Set(ids);
    for (const [key, { id }] of this.#documents) if (ids === undefined || tried.has(id)) this.#documents.delete(key);
    this.#notNamed = again.#notNamed + (ids === undefined ? 0 : this.#notNamed);
    for (const document of again.list()) this.add(document);
  }

  /** In the order in which they were refused. */
  list(): readonly RefusedDocument[] {
    return [...this.#documents.values()];
  }

  get count(): number {
    return this.#documents.size + this.#notNamed;
  }

  /** Whether all refused documents are named here. */
  get isComplete(): boolean {
    return this.#notNamed === 0;
  }
}

const SUFFIX = '+retry_refused';

/** Returns the id of the replication that retries. It has no checkpoints, so that only requests for it need to find it. */
export function retryId({ base, full, anyUser }: ReplicationId): ReplicationId {
  return { base, full: `${full}${SUFFIX}`, anyUser: `${anyUser}${SUFFIX}` };
}

/** Returns the replication that retries. Without ids all changes are read from the beginning. */
export function retryOf(replication: Replication, ids: readonly string[] | undefined): Replication {
  const again: Replication = { ...replication, continuous: false, useCheckpoints: false, sinceSeq: undefined };
  return ids === undefined ? again : { ...again, selection: { kind: 'ids', ids } };
}

/** Returns the ids of all refused documents, each once, as this process and the checkpoints know; undefined if they don't know all. */
export async function refusedIds(
  replication: Replication,
  base: string,
  host: ReplicatorHost,
  ledger: RefusedLedger | undefined,
): Promise<readonly string[] | undefined> {
  if (ledger?.isComplete === false) return undefined;
  const recorded = await recordedDocuments(replication, base, host);
  const ids = recorded === undefined ? undefined : distinct([...recorded, ...(ledger?.list() ?? [])]);
  return ids?.every(isWhole) === true ? ids : undefined;
}

/** Whether a document can be requested by the id in the ledger, which may not be the one that a peer named (`ledgerLine`). */
function isWhole(id: string): boolean {
  return !id.includes('\ufffd') && !id.endsWith('…');
}

function distinct(documents: readonly Named[]): readonly string[] {
  return [...new Set(documents.map(({ id }) => id))].sort();
}

interface Named {
  readonly id: string;
}

/** Returns what the checkpoint at a local side records of its sessions. Undefined if there is none, or if it does not name all. */
async function recordedDocuments(
  replication: Replication,
  base: string,
  host: ReplicatorHost,
): Promise<readonly Named[] | undefined> {
  const { source, target, user } = replication;
  const local = [target, source].find((endpoint): endpoint is LocalEndpoint => endpoint.kind === 'local');
  if (local === undefined) return undefined;
  const url = `${host.basePath}/${encodeURIComponent(local.name)}/_local/${base}`;
  await assertRights(replication);
  const { status, body } = await host.handle({ method: 'GET', url, headers: {}, body: null, user });
  return status === 200 && typeof body === 'string' ? refusedOf(JSON.parse(body)) : undefined;
}

type LocalEndpoint = Extract<Endpoint, { kind: 'local' }>;

function refusedOf(checkpoint: unknown): readonly Named[] | undefined {
  const history = isObject(checkpoint) ? ownMember(checkpoint, 'history') : undefined;
  if (!Array.isArray(history)) return undefined;
  const documents: Named[] = [];
  for (const entry of history) {
    const refused: unknown = isObject(entry) ? ownMember(entry, 'refused') : undefined;
    const named: readonly unknown[] = Array.isArray(refused) ? refused : [];
    const failures = isObject(entry) ? ownMember(entry, 'doc_write_failures') : undefined;
    if (typeof failures === 'number' && failures > named.length) return undefined;
    documents.push(...named.filter(hasId));
  }
  return documents;
}

function hasId(value: unknown): value is Named {
  return isObject(value) && typeof ownMember(value, 'id') === 'string';
}
