/** A note that two devices changed while they were apart: its versions side by side, and what may become of them. */
import { button, make } from '../elements/elements.ts';
import { formatBytes } from '../elements/format.ts';
import { PHOTO, THUMBNAIL, titleOf } from '../notes/note.ts';
import type { NoteStore, Versions } from '../notes/note-store.ts';
import {
  type Choice,
  type Choices,
  differences,
  type Field,
  type FieldDifference,
  fieldTitles,
  inFixedOrder,
  type Resolution,
  resolve,
  type Version,
} from '../notes/versions.ts';

export interface CardOptions {
  /** The name of the device, for the names of its fields. */
  readonly name: string;
  readonly title: string;
  readonly store: NoteStore;
  readonly id: string;
  readonly onResolve: (resolution: Resolution, how: string) => void;
}

export function conflictCard(options: CardOptions, { versions: unordered, base }: Versions): HTMLElement {
  const versions = inFixedOrder(unordered);
  const found = differences(versions, base);
  const choices: Partial<Record<Field, Choice>> = Object.fromEntries(
    found.map(({ field, proposed }) => [field, proposed]),
  );
  const use = (chosen: Choices, how: string) => {
    const resolution = resolve(versions, chosen, options.title);
    if (resolution) options.onResolve(resolution, how);
  };
  const columns = versions.map((version, index) => ({ version, author: authorOf(versions, index) }));
  const keep = columns.map(({ author }, index) => {
    const all: Choices = Object.fromEntries(found.map(({ field }) => [field, index]));
    const label = `Keep the ${author}’s`;
    return button(label, () => use(all, `kept the ${author}’s version`), { 'data-action': `keep-${index}` });
  });
  const merge = button('Merge', () => use(choices, 'merged the versions field by field'), {
    class: 'primary',
    'data-action': 'merge',
  });
  const places = versions.length === 2 ? 'Changed in two places' : `${versions.length} versions`;
  return make(
    'section',
    { class: 'torn', 'aria-label': `Conflict: ${options.title}`, 'data-id': options.id },
    make('h3', { tabindex: '-1' }, `${places}: ${titleOf(base?.note.text ?? versions[0]?.note.text ?? '')}`),
    make('p', {}, 'No change is lost. Mark what to keep of each field and merge, or keep one version whole.'),
    table(options, columns, found, (field, choice) => {
      choices[field] = choice;
    }),
    make('div', { class: 'actions' }, merge, ...keep),
  );
}

interface Column {
  readonly version: Version;
  /** As in "the phone". */
  readonly author: string;
}

type Mark = (field: Field, choice: Choice) => void;

function table(
  options: CardOptions,
  columns: readonly Column[],
  found: readonly FieldDifference[],
  mark: Mark,
): HTMLElement {
  const heads = columns.map(({ author }) => make('th', { scope: 'col' }, capital(author)));
  const canJoin = found.some((one) => one.canJoin);
  return make(
    'div',
    { class: 'table-frame', tabindex: '0', role: 'group', 'aria-label': 'The versions' },
    make(
      'table',
      {},
      make('thead', {}, make('tr', {}, make('td', {}), ...heads, canJoin && make('th', { scope: 'col' }, 'Both'))),
      make('tbody', {}, ...found.map((one) => fieldRow(options, columns, one, canJoin, mark))),
    ),
  );
}

function fieldRow(
  { name, store, id }: CardOptions,
  columns: readonly Column[],
  { field, values, canJoin, proposed }: FieldDifference,
  hasJoinColumn: boolean,
  mark: Mark,
): HTMLElement {
  const cell = (choice: Choice, label: string, ...shown: readonly Node[]) => {
    const isProposed = choice === proposed;
    const group = `${name}-${id}-${field}`;
    return choiceCell({ group, choice, isProposed, label, onMark: () => mark(field, choice) }, ...shown);
  };
  const cells = columns.map(({ version, author }, index) => {
    const label = `${fieldTitles[field]} of the ${author}: ${field === 'photo' ? 'its photo' : values[index]}`;
    const shown = field === 'photo' ? photoOf(store, id, version) : linesOf(values[index] ?? '', values);
    return cell(index, label, make('span', { class: 'torn-author' }, capital(author)), ...shown);
  });
  const both = canJoin ? cell('both', `${fieldTitles[field]} of both`, make('span', {}, 'Both')) : make('td', {});
  return make('tr', {}, make('th', { scope: 'row' }, fieldTitles[field]), ...cells, hasJoinColumn && both);
}

interface ChoiceCell {
  /** The radio buttons of which one can be chosen. */
  readonly group: string;
  readonly choice: Choice;
  readonly isProposed: boolean;
  readonly label: string;
  readonly onMark: () => void;
}

function choiceCell({ group, choice, isProposed, label, onMark }: ChoiceCell, ...shown: readonly Node[]): HTMLElement {
  const radio = make('input', {
    type: 'radio',
    name: group,
    value: String(choice),
    checked: isProposed,
    'aria-label': label,
    change: onMark,
  });
  return make('td', {}, make('label', {}, radio, make('span', {}, ...shown)));
}

/** The lines of a value; those that all versions have are the less important ones. */
function linesOf(value: string, all: readonly string[]): readonly Node[] {
  return value.split('\n').map((line) => {
    const isCommon = all.every((other) => other.split('\n').includes(line));
    return make('span', { class: isCommon ? 'torn-line is-common' : 'torn-line' }, line);
  });
}

function photoOf(store: NoteStore, id: string, { rev, files }: Version): readonly Node[] {
  if (files[THUMBNAIL] === undefined) return [make('span', {}, 'No photo')];
  const length = Number(files[PHOTO]?.length ?? 0);
  const image = make('img', {
    class: 'thumb',
    src: store.photoAddress(id, rev, THUMBNAIL),
    alt: '',
    width: 44,
    height: 44,
  });
  return [image, make('span', {}, formatBytes(length))];
}

/** `phone` or `laptop`. Two versions by devices of the same name, as in two browsers, are told apart by their revisions. */
function authorOf(versions: readonly Version[], index: number): string {
  const { note: { by } = { by: '' }, rev = '' } = versions[index] ?? {};
  const isAlone = versions.filter((version) => version.note.by === by).length === 1;
  return isAlone && by !== '' ? by.toLowerCase() : `${by.toLowerCase()} ${rev.slice(0, 6)}`.trim();
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
