import { must } from '../../../base/shared/assert.ts';

export interface CutOptions {
  /** What the sizes of a piece may add up to; exceeded only if a piece would otherwise have fewer items than `least`. */
  readonly limit: number;
  /** Minimum number of items in each piece, if there are that many. */
  readonly least: number;
  /** Whether to fill all pieces except the last, rather than make them about the same size. */
  readonly fill: boolean;
}

/** Cuts a row of items into pieces. Returns the index after each piece's last item, ascending. */
export function cut(sizes: readonly number[], { limit, least, fill }: CutOptions): number[] {
  const ends: number[] = [];
  let rest = sizes.reduce((sum, size) => sum + size, 0);
  let aim = pieceAim(rest, limit);
  let start = 0;
  let length = 0;
  for (let index = 0; index < sizes.length; index += 1) {
    const size = must(sizes[index]);
    const isFull = length + size > limit || (!fill && length + size / 2 > aim);
    if (isFull && index - start >= least && sizes.length - index >= least) {
      ends.push(index);
      rest -= length;
      aim = pieceAim(rest, limit);
      start = index;
      length = 0;
    }
    length += size;
  }
  ends.push(sizes.length);
  return ends;
}

function pieceAim(rest: number, limit: number): number {
  return rest / Math.ceil(rest / limit);
}
