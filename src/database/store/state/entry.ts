import { must } from '../../../base/shared/assert.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { type CooperativeTask, joinInSteps, runCooperatively } from '../../../base/shared/turn.ts';
import type { DocId, RevId } from '../../documents/contract.ts';
import { toRevId } from '../../documents/revisions/revisions.ts';
import {
  cutFirstRev,
  decodeTree,
  decodeTreeInSteps,
  encodeTree,
  encodeTreeInSteps,
} from '../../documents/revisions/tree-codec.ts';
import { decodeLocation, encodeLocation } from '../bodies/body-location.ts';
import type { BodyLocation, ChangeRow, CurrentDocument, DocumentRecord, StoredNode } from '../contract.ts';
import { isLiveEntry } from './trees.ts';

/**
 * The stored text of a document's by-id and by-seq entries.
 * By-id: `l` or `d` (the winner is live or deleted), the sequence number, a space, the revision tree.
 * By-seq: a JSON array of deleted (1 or 0), id, and the leaves' revisions, the winner first.
 */

/** With this many leaves or more, encoding one document is long work. */
export const MANY_LEAVES = 1_000;

export function encodeEntry(seq: number, leaves: readonly StoredNode[]): string {
  return entryHead(seq, leaves) + encodeTree(leaves, encodeLocation);
}

/** Like `encodeEntry`, but lets other tasks run in the middle of a document of many leaves. */
export function* encodeEntryInSteps(seq: number, leaves: readonly StoredNode[]): CooperativeTask<string> {
  return entryHead(seq, leaves) + (yield* encodeTreeInSteps(leaves, encodeLocation));
}

function entryHead(seq: number, leaves: readonly StoredNode[]): string {
  return `${leaves[0]?.deleted ? 'd' : 'l'}${seq.toString(36)} `;
}

export function decodeEntry(id: DocId, value: string): DocumentRecord {
  const space = value.indexOf(' ');
  return {
    id,
    seq: Number.parseInt(value.slice(1, space), 36),
    leaves: decodeTree(value.slice(space + 1), decodeLocation),
  };
}

/** A longer entry is one of very many revisions. */
const LONG_ENTRY = 65_536;

/** Like `decodeEntry`: at once if the entry is short. */
export function decodeInTurns(id: DocId, value: string): MaybePromise<DocumentRecord> {
  return isLongEntry(value) ? runCooperatively(decodeEntryInSteps(id, value)) : decodeEntry(id, value);
}

export function isLongEntry(value: string): boolean {
  return value.length > LONG_ENTRY;
}

/** Like `decodeEntry`, for a document of very many revisions. */
export function* decodeEntryInSteps(id: DocId, value: string): CooperativeTask<DocumentRecord> {
  const space = value.indexOf(' ');
  const seq = Number.parseInt(value.slice(1, space), 36);
  return { id, seq, leaves: yield* decodeTreeInSteps(value.slice(space + 1), decodeLocation) };
}

/**
 * Returns the winner's revision and body, for a live document whose winner has a body and a hash of our own. `read` returns the body
 * at a location; if it returns undefined, and for all other documents, so does this.
 */
export function decodeCurrent(
  read: (body: BodyLocation) => string | undefined,
  value = '',
): CurrentDocument | undefined {
  const treeStart = value.indexOf(' ') + 1;
  const rev = cutFirstRev(value, treeStart);
  if (rev === undefined || !isLiveEntry(value)) return undefined;
  const start = value.indexOf('=', treeStart + rev.length) + 1;
  const end = value.indexOf(',', start);
  const body = end < 0 ? undefined : read(decodeLocation(value.slice(start, end)));
  return body === undefined ? undefined : { rev, body };
}

/** Returns the winner's revision id. */
export function decodeRev(id: DocId, value: string): RevId {
  const rev = cutFirstRev(value, value.indexOf(' ') + 1);
  if (rev !== undefined) return rev;
  const winner = must(decodeEntry(id, value).leaves[0]);
  return toRevId(winner.generation, winner.hash);
}

export function encodeChange(id: DocId, leaves: readonly StoredNode[]): string {
  let text = `[${leaves[0]?.deleted ? 1 : 0},${JSON.stringify(id)}`;
  for (const leaf of leaves) text += `,${encodeRev(leaf)}`;
  return `${text}]`;
}

/** Like `encodeChange`, but lets other tasks run in the middle of a document of many leaves. */
export function* encodeChangeInSteps(id: DocId, leaves: readonly StoredNode[]): CooperativeTask<string> {
  return `[${leaves[0]?.deleted ? 1 : 0},${JSON.stringify(id)},${yield* joinInSteps(leaves, encodeRev)}]`;
}

/** Returns a revision as JSON; our own hashes need no escapes. */
function encodeRev({ generation, hash }: StoredNode): string {
  return isHex(hash) ? `"${generation}-${hash}"` : JSON.stringify(toRevId(generation, hash));
}

/** Whether the text has only hexadecimal digits, and so needs no escapes in JSON. */
export function isHex(text: string): boolean {
  return /^[0-9a-f]*$/.test(text);
}

/** Decodes the text without checking it: it is what `encodeChange` wrote. */
export function decodeChange(seq: number, value: string): ChangeRow {
  const [deleted, id, ...revs] = JSON.parse(value) as [number, DocId, ...RevId[]];
  return { seq, id, deleted: deleted === 1, revs };
}
