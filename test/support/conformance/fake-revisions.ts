/** Revisions for replicated writes: a hash of 32 times one hexadecimal digit, so that expectations can be literal. */

export function fakeHash(digit: string): string {
  return digit.repeat(32);
}

export function fakeRev(generation: number, digit: string): string {
  return `${generation}-${fakeHash(digit)}`;
}

/** A document as a replicator sends it; `digits` are those of the revision and its ancestors, newest first. */
export function replicated(id: string, generation: number, digits: string, members: object = {}): object {
  const ids = [...digits].map(fakeHash);
  return { _id: id, _rev: `${generation}-${ids[0]}`, _revisions: { start: generation, ids }, ...members };
}
