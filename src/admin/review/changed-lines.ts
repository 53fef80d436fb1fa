/** The difference of two texts by lines. */

export interface ChangedLine {
  /** `left`: so many unchanged lines are not shown. */
  readonly kind: 'same' | 'added' | 'removed' | 'left';
  readonly text: string;
}

/** Unchanged lines shown before and after each change. */
const CONTEXT = 3;
/** Lines of both texts. Longer texts are not compared: the time rises with the square of the number of lines. */
const MAX_LINES = 20_000;

export async function changedLines(before: string, after: string): Promise<readonly ChangedLine[]> {
  if (lineCount(before) + lineCount(after) > MAX_LINES) {
    return [
      { kind: 'left', text: `The texts are too long to compare: ${lineCount(before)} and ${lineCount(after)} lines.` },
    ];
  }
  const { diffLines } = await import('diff');
  const all = diffLines(before, after).flatMap(({ value, added, removed }) =>
    linesOf(value).map((text): ChangedLine => ({ kind: added ? 'added' : removed ? 'removed' : 'same', text })),
  );
  return withoutDistant(all);
}

/** Leaves out unchanged lines that are not near a change. */
function withoutDistant(lines: readonly ChangedLine[]): readonly ChangedLine[] {
  const near = new Set<number>();
  for (const [index, { kind }] of lines.entries()) {
    if (kind !== 'same') for (let at = index - CONTEXT; at <= index + CONTEXT; at += 1) near.add(at);
  }
  const kept: ChangedLine[] = [];
  let left = 0;
  const endGap = () => {
    if (left > 0) kept.push({ kind: 'left', text: left === 1 ? '1 line' : `${left} lines` });
    left = 0;
  };
  for (const [index, line] of lines.entries()) {
    if (!near.has(index)) {
      left += 1;
      continue;
    }
    endGap();
    kept.push(line);
  }
  endGap();
  return kept;
}

function linesOf(text: string): readonly string[] {
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
}

function lineCount(text: string): number {
  return text === '' ? 0 : linesOf(text).length;
}
