/** The form of ids and revisions of documents, in any server of the family. */
import { hasLoneSurrogate } from '../../base/json/portable-values.ts';

const REVISION = /^[1-9]\d{0,15}-[^\p{Cc}\p{Surrogate}]+$/u;

/** Whether a replicated document can have the revision. */
export function isRevision(text: string): boolean {
  return REVISION.test(text);
}

/** Returns why no replicated document can have the id; undefined if one can. A server reports other ids that it does not accept. */
export function idProblem(id: string): string | undefined {
  if (id === '') return 'an id must not be empty';
  if (hasLoneSurrogate(id)) return 'the id contains half of a surrogate pair';
  // Written without `new_edits`, it would replace a document that belongs only to the target.
  if (id.startsWith('_local/')) return 'local documents are not replicated';
  return undefined;
}

/** The revisions of local documents, which count up: `0-1`, `0-2`, … */
const LOCAL_REVISION = /^0-(\d+)$/;

/** Whether a document that was at revision `known` is at an earlier one now, or does not exist any more. */
export function isEarlierRevision(now: string | undefined, known: string | undefined): boolean {
  const [, knownCount] = LOCAL_REVISION.exec(known ?? '') ?? [];
  if (knownCount === undefined) return false;
  const [, count] = LOCAL_REVISION.exec(now ?? '') ?? [];
  return now === undefined || (count !== undefined && Number(count) < Number(knownCount));
}
