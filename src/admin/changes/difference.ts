/** What a revision changed, compared with the one before it. */
import { ask, type JsonObject, pathOf, ServerError, withQuery } from '../server/client.ts';

export interface Difference {
  /** Undefined: there was no revision before, or it is no longer stored. */
  readonly before: string | undefined;
  readonly after: string;
  readonly summary: string;
}

interface Revisions {
  readonly start: number;
  readonly ids: readonly string[];
}

export async function differenceOf(
  database: string,
  id: string,
  rev: string,
  signal: AbortSignal,
): Promise<Difference> {
  const now = await readRevision(database, id, rev, signal);
  if (now === undefined) return { before: undefined, after: '', summary: 'This revision is no longer stored.' };
  const former = formerRevision(now);
  const after = contentOf(now);
  if (former === undefined) return { before: undefined, after: textOf(after), summary: summaryOfNew(after) };
  const before = await readRevision(database, id, former, signal);
  if (before === undefined) {
    return { before: undefined, after: textOf(after), summary: 'The revision before is no longer stored.' };
  }
  return { before: textOf(contentOf(before)), after: textOf(after), summary: summaryOf(contentOf(before), after) };
}

async function readRevision(
  database: string,
  id: string,
  rev: string,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  try {
    return await ask('GET', withQuery(pathOf(database, id), { rev, revs: true }), { signal, quiet: true });
  } catch (failure) {
    if (failure instanceof ServerError && failure.status === 404) return undefined;
    throw failure;
  }
}

function formerRevision({ _revisions }: JsonObject): string | undefined {
  if (!isRevisions(_revisions)) return undefined;
  const former = _revisions.ids[1];
  return former === undefined ? undefined : `${_revisions.start - 1}-${former}`;
}

function isRevisions(value: unknown): value is Revisions {
  return typeof value === 'object' && value !== null && 'start' in value && 'ids' in value && Array.isArray(value.ids);
}

function contentOf(doc: JsonObject): JsonObject {
  const { _id, _rev, _revisions, ...rest } = doc;
  return rest;
}

function textOf(doc: JsonObject): string {
  return JSON.stringify(doc, null, 2);
}

function summaryOfNew(doc: JsonObject): string {
  return `New: ${namesText(Object.keys(doc))}`;
}

function summaryOf(before: JsonObject, after: JsonObject): string {
  const same = (name: string) => JSON.stringify(before[name]) === JSON.stringify(after[name]);
  const parts = [
    ['added', Object.keys(after).filter((name) => !(name in before) && name !== '_deleted')],
    ['changed', Object.keys(after).filter((name) => name in before && !same(name))],
    ['removed', Object.keys(before).filter((name) => !(name in after))],
  ] as const;
  const texts = parts.filter(([, names]) => names.length > 0).map(([word, names]) => `${word} ${namesText(names)}`);
  return texts.length === 0 ? 'The content is the same.' : texts.join('; ');
}

const SHOWN = 6;

function namesText(names: readonly string[]): string {
  if (names.length === 0) return 'no members';
  const rest = names.length - SHOWN;
  return rest > 0 ? `${names.slice(0, SHOWN).join(', ')} and ${rest} more` : names.join(', ');
}
