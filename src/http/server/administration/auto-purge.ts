/** `_auto_purge`: for how long tombstones are kept, and for whom (docs/http/databases.md#automatic-purge). */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { PERIOD_FORMS, parsePeriod } from '../../../base/system/periods.ts';
import type { PurgePeer, PurgePlan } from '../../../database/purging/contract.ts';
import { readObject } from '../../request/bodies.ts';
import { AUTO_PURGE } from '../../request/body-bounds.ts';
import type { Answer, Context } from '../../request/context.ts';
import { commitRight } from '../../request/kept-rights.ts';
import { jsonAnswer, okAnswer } from '../../response/responses.ts';
import type { AdministrationService } from './administration-service.ts';

/** Maximum number of peers that a database ignores. */
const MAX_IGNORED = 1_000;

export async function getAutoPurge(
  _service: AdministrationService,
  context: Context,
  database: string,
): Promise<Answer> {
  const object = await context.useDatabase(database, (open) => open.autoPurge);
  return jsonAnswer(context, 200, object);
}

/** Replaces the object. Purges soon, without the client waiting for it. */
export async function putAutoPurge(
  _service: AdministrationService,
  context: Context,
  database: string,
): Promise<Answer> {
  const object = await readObject(context, AUTO_PURGE);
  for (const [name, value] of Object.entries(object)) checkMember(name, value);
  await context.useDatabase(database, (open) => open.setAutoPurge(JSON.stringify(object), commitRight(context)));
  await context.services.autoPurge.changed(database);
  return okAnswer(context, 201);
}

function checkMember(name: string, value: unknown): void {
  if (name === 'deleted_document_ttl') {
    if (typeof value === 'string' && parsePeriod(value) !== undefined) return;
    throw new DatabaseError('bad_request', `deleted_document_ttl must be ${PERIOD_FORMS}.`);
  }
  if (name === 'ignored_peers') {
    if (Array.isArray(value) && value.length <= MAX_IGNORED && value.every((id) => typeof id === 'string')) return;
    throw new DatabaseError('bad_request', `ignored_peers must be a list of at most ${MAX_IGNORED} document ids.`);
  }
  const reason = `"${name.slice(0, 100)}" is unknown. _auto_purge has deleted_document_ttl and ignored_peers.`;
  throw new DatabaseError('bad_request', reason);
}

/** Lists who keeps tombstones from being purged, and who doesn't. */
export async function getPurgePeers(
  _service: AdministrationService,
  context: Context,
  database: string,
): Promise<Answer> {
  const { autoPurge } = context.services;
  const listing = await context.useDatabase(database, async (open) => {
    const { updateSeq } = open;
    return shownPlan(await autoPurge.plan(open), updateSeq);
  });
  return jsonAnswer(context, 200, JSON.stringify(listing));
}

function shownPlan({ ttl, peerTtl, oldSeq, untilSeq, peers }: PurgePlan, updateSeq: number): unknown {
  return {
    update_seq: updateSeq,
    deleted_document_ttl_seconds: Number.isFinite(ttl) ? ttl : null,
    peer_ttl_seconds: Number.isFinite(peerTtl) ? peerTtl : null,
    old_seq: oldSeq,
    purge_until_seq: untilSeq,
    peers: peers.map(shownPeer),
  };
}

function shownPeer({ id, side, seq, state, seen, silent }: PurgePeer): unknown {
  const lastSeen = `${new Date(seen * 1_000).toISOString().slice(0, 19)}Z`;
  return { id, side, seq: seq ?? null, state, last_seen: lastSeen, silent_seconds: silent };
}
