/** Ids and revisions of documents, in any server of the family, and the addresses that name documents. */
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

/** `/id`, encoded except the slash that follows `_design` and `_local`. */
export function documentPath(id: string): string {
  const [, prefix = '', rest = id] = /^(_design\/|_local\/)(.*)$/s.exec(id) ?? [];
  return `/${prefix}${encodeURIComponent(rest)}`;
}

/** Whether an address can refer to the document. */
export function isAddressable(id: string): boolean {
  return !hasLoneSurrogate(id) && isSegment(documentPath(id).replace(/^.*\//s, ''));
}

/** Whether it can be a segment of a path: `.` and `..` would be resolved, however they are encoded. */
export function isSegment(text: string): boolean {
  return text !== '' && text !== '.' && text !== '..' && !hasLoneSurrogate(text);
}

/** Returns `?a=b&c=d`, without undefined parameters; empty if nothing is left. */
export function queryText(parameters: Readonly<Record<string, string | undefined>>): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}
