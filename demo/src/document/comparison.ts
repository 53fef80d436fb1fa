/** How two people changed one document, member by member. */
import type { Content, StoredDocument } from '../data/database.ts';

export interface Difference {
  readonly member: string;
  /** As JSON; undefined if absent. */
  readonly mine: string | undefined;
  readonly theirs: string | undefined;
  readonly changedBy: 'me' | 'them' | 'both';
}

export function contentOf({ _id, _rev, ...content }: StoredDocument): Content {
  return content;
}

/** Members in which `mine` and `theirs` differ; both were made from `base`. */
export function compare(base: Content, mine: Content, theirs: Content): readonly Difference[] {
  const members = new Set([...Object.keys(theirs), ...Object.keys(mine)]);
  return [...members].flatMap((member) => {
    const [was, my, their] = [base, mine, theirs].map((content) => asText(content[member]));
    if (my === their) return [];
    const changedBy = was === my ? 'them' : was === their ? 'me' : 'both';
    return [{ member, mine: my, theirs: their, changedBy } as const];
  });
}

/** Their document with my changes in it, unless both changed the same members differently; else undefined. */
export function combine(mine: Content, theirs: Content, differences: readonly Difference[]): Content | undefined {
  if (differences.some(({ changedBy }) => changedBy === 'both')) return undefined;
  const changes = differences.filter(({ changedBy }) => changedBy === 'me');
  const combined = { ...theirs };
  for (const { member } of changes) {
    if (member in mine) combined[member] = mine[member];
    else delete combined[member];
  }
  return combined;
}

function asText(value: unknown): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}
