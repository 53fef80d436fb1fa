/** The revisions of local documents, which count up: `0-1`, `0-2`, … */
const REVISION = /^0-(\d+)$/;

/** Whether a document that was at revision `known` is at an earlier one now, or does not exist any more. */
export function isEarlierRevision(now: string | undefined, known: string | undefined): boolean {
  const [, knownCount] = REVISION.exec(known ?? '') ?? [];
  if (knownCount === undefined) return false;
  const [, count] = REVISION.exec(now ?? '') ?? [];
  return now === undefined || (count !== undefined && Number(count) < Number(knownCount));
}
