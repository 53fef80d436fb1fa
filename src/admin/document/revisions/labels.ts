/** Revisions as people compare them: the generation, and as much of the hash as tells it from the others. */

/** Characters of the hash in a label. */
const MIN_LENGTH = 6;

/** Returns a label for each of the revisions. No two are alike. */
export function revisionLabels(revs: Iterable<string>): ReadonlyMap<string, string> {
  // Neighbours in this order have the longest common beginnings.
  const sorted = [...new Set(revs)].sort();
  return new Map(
    sorted.map((rev, at) => {
      const common = Math.max(commonLength(rev, sorted[at - 1]), commonLength(rev, sorted[at + 1]));
      return [rev, rev.slice(0, Math.max(rev.indexOf('-') + 1 + MIN_LENGTH, common + 1))];
    }),
  );
}

function commonLength(one: string, other: string | undefined): number {
  let length = 0;
  while (other !== undefined && length < one.length && one[length] === other[length]) length += 1;
  return length;
}
