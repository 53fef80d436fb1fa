/** One document: its text, its revisions and its attachments. */
import { type JsonEntry, type JsonTree, memberOf, nameOf, parseJson, stringOf } from '../json/json-tree.ts';
import { printPretty } from '../json/print-json.ts';
import { ask, exchange, type JsonObject, parseResponse, pathOf } from './client.ts';
import { isMissingEndpoint } from './session.ts';

export interface StoredDocument {
  readonly id: string;
  readonly rev: string;
  /** The members except `_rev`, `_conflicts` and `_revisions`, with indentation, and otherwise as the server wrote them. */
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** Revisions that lost against this one, and are not deleted. */
  readonly conflicts: readonly string[];
}

export interface Attachment {
  readonly name: string;
  readonly type: string;
  readonly bytes: number;
}

/** What is stored under an id. `found`: undefined if there is no document, or it is deleted. */
export interface Stored {
  readonly found: StoredDocument | undefined;
  readonly isDeleted: boolean;
}

export async function readDocument(database: string, id: string, signal?: AbortSignal): Promise<Stored> {
  const request = { method: 'GET', path: `${pathOf(database, id)}?conflicts=true` };
  const response = await exchange(request, signal === undefined ? {} : { signal });
  if (response.status === 404) return { found: undefined, isDeleted: reasonIn(response.text) === 'deleted' };
  // Fails if the status is not 2xx.
  const { _conflicts } = parseResponse<JsonObject>(response, request);
  const tree = parseJson(response.text);
  const conflicts = Array.isArray(_conflicts) ? _conflicts.map(String) : [];
  const text = printPretty(ownMembers(tree));
  return {
    found: { id, rev: revOf(tree), text, attachments: attachmentsOf(tree), conflicts },
    isDeleted: false,
  };
}

/** The `reason` of an error; undefined if the text is none. */
function reasonIn(text: string): unknown {
  try {
    return Object(JSON.parse(text)).reason;
  } catch {
    return undefined;
  }
}

/** The text of one revision; undefined if its body is gone, or was never there. */
export async function readRevision(
  database: string,
  id: string,
  rev: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const request = { method: 'GET', path: `${pathOf(database, id)}?rev=${encodeURIComponent(rev)}` };
  const response = await exchange(request, signal === undefined ? {} : { signal });
  if (response.status === 404) return undefined;
  parseResponse(response, request);
  return printPretty(ownMembers(parseJson(response.text)));
}

const METADATA = new Set(['_rev', '_conflicts', '_deleted_conflicts', '_revisions', '_revs_info', '_local_seq']);

/** Without what the server adds about revisions. */
export function ownMembers(tree: JsonTree): JsonTree {
  return tree.kind === 'object' ? { ...tree, entries: membersWithout(tree, METADATA) } : tree;
}

/** The members with other names. */
export function membersWithout(tree: JsonTree, names: ReadonlySet<string>): readonly JsonEntry[] {
  return tree.kind === 'object' ? tree.entries.filter((entry) => !names.has(nameOf(entry))) : [];
}

/** The value of `_rev`. */
export function revOf(tree: JsonTree): string {
  const rev = memberOf(tree, '_rev');
  return rev?.kind === 'string' ? stringOf(rev.text) : '';
}

/** What `_attachments` lists. */
export function attachmentsOf(tree: JsonTree): readonly Attachment[] {
  const stubs = memberOf(tree, '_attachments');
  if (stubs?.kind !== 'object') return [];
  return stubs.entries.map((entry) => {
    const [type, length] = [memberOf(entry.value, 'content_type'), memberOf(entry.value, 'length')];
    return {
      name: nameOf(entry),
      type: type?.kind === 'string' ? stringOf(type.text) : '',
      bytes: length?.kind === 'number' ? Number(length.text) : 0,
    };
  });
}

/** The path of an attachment, below the base. */
export function attachmentPath(database: string, id: string, name: string): string {
  return `${pathOf(database, id)}/${name.split('/').map(encodeURIComponent).join('/')}`;
}

/** Returns an id for a new document. */
export async function newId(): Promise<string> {
  try {
    const { uuids } = await ask<{ readonly uuids: readonly string[] }>('GET', '_uuids', { quiet: true });
    return uuids[0] ?? madeId();
  } catch (failure) {
    if (!isMissingEndpoint(failure)) throw failure;
    return madeId();
  }
}

/** As servers make them. */
function madeId(): string {
  return crypto.randomUUID().replaceAll('-', '');
}
