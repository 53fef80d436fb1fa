/** Refused documents that the target has by now: somebody has mended the reason, and they were written, by a retry or in another way. */
import { ask, type JsonObject, pathOf } from './client.ts';
import { isObject } from './json.ts';

export interface RefusedDocument {
  readonly id: string;
  readonly rev: string;
  readonly error: string;
  readonly reason: string;
}

/** The list that servers keep. Empty if they keep none. */
export function refusedOf(value: unknown): readonly RefusedDocument[] {
  const text = (member: unknown) => (typeof member === 'string' ? member : '');
  return (Array.isArray(value) ? value : []).filter(isObject).map(({ id, rev, error, reason }) => ({
    id: text(id),
    rev: text(rev),
    error: text(error),
    reason: text(reason),
  }));
}

const KEY = 'settee-utils/written-since';
/** Revisions that this browser remembers; the oldest ones are forgotten. */
const MAX_REMEMBERED = 2_000;
/** Documents in one request. */
const AT_ONCE = 500;
/** How long a result is used before the target is asked again: the target may have been deleted and created again. */
const BELIEVED_MS = 60_000;

/** When this page has last asked each target about all: milliseconds since the page was opened. */
const askedAt = new Map<string, number>();

/**
 * Returns those of `refused` that the target lacks: neither the refused revision nor one that descends from it is there. `target`: a database
 * of this server; of another one nothing is known, so all are returned. What was found is remembered in this browser: it holds for a minute, and
 * where the target does not answer.
 */
export async function lackedAt(
  target: string | undefined,
  refused: readonly RefusedDocument[],
  signal?: AbortSignal,
): Promise<readonly RefusedDocument[]> {
  if (target === undefined || refused.length === 0) return refused;
  const nameOf = ({ id, rev }: RefusedDocument) => JSON.stringify([target, id, rev]);
  const known = new Set(remembered());
  const isTime = performance.now() - (askedAt.get(target) ?? Number.NEGATIVE_INFINITY) > BELIEVED_MS;
  const asked = refused.filter((one) => one.id !== '' && one.rev !== '' && (isTime || !known.has(nameOf(one))));
  for (let from = 0; from < asked.length; from += AT_ONCE) {
    const some = asked.slice(from, from + AT_ONCE);
    const present = await presentAt(target, some, signal);
    if (present === undefined) break;
    const [there, all] = [new Set(present.map(nameOf)), new Set(some.map(nameOf))];
    // Others may have been remembered while this waited.
    const former = remembered();
    const next = [...former.filter((name) => !all.has(name)), ...there];
    if (former.length !== next.length || there.size > 0) remember(next);
    if (isTime) askedAt.set(target, performance.now());
  }
  const written = new Set(remembered());
  return refused.filter((one) => !written.has(nameOf(one)));
}

/**
 * A revision that the tree of the document names is not missing, whether its body is still kept or has been replaced by a descendant's.
 * Undefined: the target does not answer.
 */
async function presentAt(
  target: string,
  asked: readonly RefusedDocument[],
  signal?: AbortSignal,
): Promise<readonly RefusedDocument[] | undefined> {
  const revs = new Map<string, string[]>();
  for (const { id, rev } of asked) revs.set(id, [...(revs.get(id) ?? []), rev]);
  const json = Object.fromEntries(revs);
  try {
    const path = pathOf(target, '_revs_diff');
    const answer = await ask<Record<string, JsonObject>>('POST', path, { json, signal, quiet: true });
    return asked.filter(({ id, rev }) => {
      const missing = answer[id]?.missing;
      return !(Array.isArray(missing) && missing.includes(rev));
    });
  } catch (failure) {
    if (signal?.aborted === true) throw failure;
    return undefined;
  }
}

/** Oldest first. */
function remembered(): readonly string[] {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(names) ? names.map(String) : [];
  } catch {
    return [];
  }
}

function remember(names: readonly string[]): void {
  localStorage.setItem(KEY, JSON.stringify(names.slice(-MAX_REMEMBERED)));
}
