/** Finds the name that may have been meant by a misspelt one. */

/** A name is near when at most this part of its characters has to change. */
const NEAR = 0.5;

/** Returns the name that takes the fewest changes of single characters; undefined if none is near. Meant for some hundred short names. */
export function nearestName(text: string, names: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let fewest = Math.max(2, Math.floor(text.length * NEAR)) + 1;
  for (const name of names) {
    const changes = changesBetween(text, name, fewest);
    if (changes >= fewest) continue;
    nearest = name;
    fewest = changes;
  }
  return nearest;
}

/** Returns the number of insertions, deletions, replacements and exchanges of neighbours that turn `left` into `right`, up to `enough`. */
function changesBetween(left: string, right: string, enough: number): number {
  if (Math.abs(left.length - right.length) >= enough) return enough;
  let older: number[] = [];
  let above = Array.from({ length: right.length + 1 }, (_, n) => n);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let at = 1; at <= right.length; at++) {
      const isSame = left[row - 1] === right[at - 1];
      const isExchanged = row > 1 && at > 1 && left[row - 1] === right[at - 2] && left[row - 2] === right[at - 1];
      current[at] = Math.min(
        (above[at] ?? 0) + 1,
        (current[at - 1] ?? 0) + 1,
        (above[at - 1] ?? 0) + (isSame ? 0 : 1),
        isExchanged ? (older[at - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    older = above;
    above = current;
  }
  return Math.min(enough, above[right.length] ?? enough);
}
