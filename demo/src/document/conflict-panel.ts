/** Shown when someone else was quicker: what they changed, what I changed, and the possible resolutions. */

import type { Content, StoredDocument } from '../data/database.ts';
import { button, make } from '../elements/elements.ts';

export interface Conflict {
  readonly base: StoredDocument;
  readonly mine: Content;
  /** Undefined if they deleted it. */
  readonly theirs: StoredDocument | undefined;
}

export interface ConflictChoices {
  takeTheirs(): void;
  /** Saves this on top of theirs. */
  save(content: Content): void;
}

export function conflictPanel({ base, mine, theirs }: Conflict, { takeTheirs, save }: ConflictChoices): HTMLElement {
  const differences = theirs ? compare(contentOf(base), mine, contentOf(theirs)) : [];
  const combined = theirs && combine(mine, contentOf(theirs), differences);
  const deleted = 'Another tab deleted this document while you were editing it. Nothing of yours is lost.';
  const changed = `It is at revision ${theirs?._rev.split('-')[0]} now; yours is based on ${base._rev.split('-')[0]}. Nothing of yours is lost.`;
  return make(
    'section',
    { class: 'conflict', role: 'alert' },
    make('h3', {}, 'Another tab was quicker'),
    make('p', {}, theirs ? changed : deleted),
    differences.length > 0 && differenceTable(differences),
    make(
      'div',
      { class: 'actions' },
      combined && button('Combine both', () => save(combined), { class: 'primary' }),
      button(theirs ? 'Save mine over theirs' : 'Save mine as new', () => save(mine)),
      button(theirs ? 'Take theirs' : 'Accept the deletion', takeTheirs),
    ),
  );
}

function differenceTable(differences: readonly Difference[]): HTMLElement {
  const head = ['Member', 'Yours', 'Theirs'].map((text) => make('th', { scope: 'col' }, text));
  const rows = differences.map(({ member, mine, theirs, changedBy }) =>
    make(
      'tr',
      {},
      make('th', { scope: 'row' }, member),
      make('td', { class: changedBy === 'them' ? '' : 'is-changed' }, shorten(mine)),
      make('td', { class: changedBy === 'me' ? '' : 'is-changed' }, shorten(theirs)),
    ),
  );
  return make(
    'div',
    { class: 'table-frame' },
    make('table', {}, make('thead', {}, make('tr', {}, ...head)), make('tbody', {}, ...rows)),
  );
}

function shorten(text = '—'): string {
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}

// ——— how two people changed one document, member by member ———

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
