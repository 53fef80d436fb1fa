/** Shown when someone else was quicker: what they changed, what I changed, and the possible resolutions. */

import type { Content, StoredDocument } from '../data/database.ts';
import { button, make } from '../elements/elements.ts';
import { combine, compare, contentOf, type Difference } from './comparison.ts';

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
  const deleted = 'Somebody deleted this document while you were editing it. Nothing of yours is lost.';
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
      button(theirs ? 'Take theirs' : 'Let it go', takeTheirs),
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
