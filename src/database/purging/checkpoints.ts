/** Reads checkpoints of replications out of `_local` documents, in the forms of Settee, CouchDB and PouchDB. */
import { isObject, ownMember } from '../../base/json/objects.ts';
import { parseInSteps } from '../../base/json/parse-in-steps.ts';
import { runCooperatively } from '../../base/shared/turn.ts';
import type { PurgePeer } from './contract.ts';

export interface Checkpoint {
  readonly side: PurgePeer['side'];
  /** Undefined if it is not a number, and so is of another server. */
  readonly seq: number | undefined;
}

/** Returns the checkpoint in the body of a local document; undefined if the document is something else. */
export async function readCheckpoint(body: string): Promise<Checkpoint | undefined> {
  // Most local documents of apps need not be parsed.
  if (!body.includes('"session_id"') || !body.includes('"history"')) return undefined;
  const value: unknown = await runCooperatively(parseInSteps(body));
  if (!isObject(value) || !Array.isArray(ownMember(value, 'history'))) return undefined;
  if (typeof ownMember(value, 'session_id') !== 'string') return undefined;
  const own = ownMember(value, 'source_last_seq');
  const seq = own === undefined ? ownMember(value, 'last_seq') : own;
  return seq === undefined ? undefined : { side: toSide(ownMember(value, 'side')), seq: toSeq(seq) };
}

function toSide(value: unknown): PurgePeer['side'] {
  return value === 'source' || value === 'target' ? value : 'unknown';
}

/** Some clients keep sequence numbers as text. A session that has read nothing yet has `null`. */
function toSeq(value: unknown): number | undefined {
  if (value === null) return 0;
  const seq = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return typeof seq === 'number' && Number.isSafeInteger(seq) && seq >= 0 ? seq : undefined;
}
