/** The versions of a note that two devices changed while they were apart: how they differ, and what becomes of them. */
import type { Attachment, StoredDocument } from '../data/database.ts';
import { formatNoteTime, formatPlace, kinds, kindTitle, type Note, readNote } from './note.ts';

export interface Version {
  readonly rev: string;
  readonly note: Note;
  /** Names of attachments with what the document says about them. */
  readonly files: Readonly<Record<string, Attachment>>;
  /** The revisions before it, the latest first. */
  readonly ancestors: readonly string[];
}

interface LeafDocument extends StoredDocument {
  readonly _revisions?: { readonly start: number; readonly ids: readonly string[] };
}

export const fields = ['text', 'kind', 'tags', 'place', 'time', 'photo'] as const;
export type Field = (typeof fields)[number];

export const fieldTitles: Readonly<Record<Field, string>> = {
  text: 'Text',
  kind: 'Kind',
  tags: 'Tags',
  place: 'Place',
  time: 'Time',
  photo: 'Photo',
};

/** The index of the version that a field is taken from, or those of all versions together. */
export type Choice = number | 'both';

export type Choices = Readonly<Partial<Record<Field, Choice>>>;

/** Fields whose values can stand beside each other. */
const joinable: ReadonlySet<Field> = new Set(['text', 'tags']);

export interface FieldDifference {
  readonly field: Field;
  /** One for each version, for people. */
  readonly values: readonly string[];
  readonly canJoin: boolean;
  /** What loses least: the version that changed it, if only one did; else both, if they can stand beside each other. */
  readonly proposed: Choice;
}

export function toVersion(document: LeafDocument): Version {
  const { start = 0, ids = [] } = document._revisions ?? {};
  return {
    rev: document._rev,
    note: readNote(document),
    files: document._attachments ?? {},
    ancestors: ids.map((id, index) => `${start - index}-${id}`).slice(1),
  };
}

/** In an order that is the same on every device: that of the names of the devices, then that of revisions. */
export function inFixedOrder(versions: readonly Version[]): readonly Version[] {
  const key = ({ note, rev }: Version) => `${note.by === 'Phone' ? 0 : 1} ${note.by} ${rev}`;
  return [...versions].sort((one, other) => (key(one) < key(other) ? -1 : 1));
}

/** The latest revision that all of them come from. */
export function commonAncestor([first, ...others]: readonly Version[]): string | undefined {
  return first?.ancestors.find((rev) => others.every(({ ancestors }) => ancestors.includes(rev)));
}

/** The fields in which they differ. `base`: what they come from, if it is still stored. */
export function differences(versions: readonly Version[], base: Version | undefined): readonly FieldDifference[] {
  return fields.flatMap((field) => {
    const values = versions.map((version) => shownValue(version, field));
    if (values.every((value) => value === values[0])) return [];
    const canJoin = joinable.has(field);
    return [{ field, values, canJoin, proposed: propose(values, base && shownValue(base, field), canJoin) }];
  });
}

function propose(values: readonly string[], was: string | undefined, canJoin: boolean): Choice {
  const changed = [...values.keys()].filter((index) => values[index] !== was);
  const [first = 0, ...others] = changed;
  if (was !== undefined && others.length === 0) return first;
  return canJoin ? 'both' : first;
}

export interface Resolution {
  readonly note: Note;
  /** The version that is continued: the one whose photo is kept. */
  readonly continued: Version;
  readonly others: readonly Version[];
}

/** `choices` for the fields in which they differ; the others are the same anyway. `by`: the device that resolves. */
export function resolve(versions: readonly Version[], choices: Choices, by: string): Resolution | undefined {
  const [first] = versions;
  const pick = (field: Field): Version | undefined => {
    const choice = choices[field];
    return typeof choice === 'number' ? versions[choice] : first;
  };
  const continued = pick('photo');
  const [text, kind, tags, place, time] = (['text', 'kind', 'tags', 'place', 'time'] as const).map(pick);
  if (!continued || !text || !kind || !tags || !place || !time) return undefined;
  const note: Note = {
    text: choices.text === 'both' ? joinTexts(versions.map((version) => version.note.text)) : text.note.text,
    kind: kind.note.kind,
    tags: choices.tags === 'both' ? [...new Set(versions.flatMap((one) => one.note.tags))] : tags.note.tags,
    place: place.note.place,
    time: time.note.time,
    by,
  };
  return { note, continued, others: versions.filter((version) => version !== continued) };
}

/** Lines that both have stand once. */
function joinTexts(texts: readonly string[]): string {
  return [...new Set(texts.flatMap((text) => text.split('\n')))].join('\n');
}

function shownValue({ note, files }: Version, field: Field): string {
  switch (field) {
    case 'text':
      return note.text;
    case 'kind':
      return kindTitle(note.kind);
    case 'tags':
      return note.tags.join(', ') || 'none';
    case 'place':
      return note.place ? formatPlace(note.place) : 'none';
    case 'time':
      return formatNoteTime(note.time);
    case 'photo':
      return describeFiles(files);
  }
}

function describeFiles(files: Readonly<Record<string, Attachment>>): string {
  const digests = Object.values(files).map((file) => (file.digest ?? '').slice(4, 12));
  return digests.length === 0 ? 'none' : digests.join(' ');
}

/** What each device makes of the note in the conflict that is created on request. */
const said = {
  phone: [
    'Seen from the path, in the last light.',
    'Two more came from the north.',
    'Gone when the rain began.',
    'Closer than yesterday by half.',
    'Heard before it was seen.',
  ],
  laptop: [
    'Compare with the entry of last week.',
    'To be checked against the guide.',
    'The third time this month.',
    'Ask Ines, who knows the place.',
    'Worth another visit in spring.',
  ],
} as const;

const marks = ['to check', 'again', 'first this year', 'with doubt', 'for the map'] as const;

const isSaid = (line: string): boolean => [...said.phone, ...said.laptop].some((one) => one === line);
const isMark = (tag: string): boolean => marks.some((one) => one === tag);

/**
 * How each device edits the note, differently in each round: both add a line in place of that of an earlier round; one changes the kind, too,
 * the other the tags.
 */
export function tornEdits(note: Note, round: number): readonly [phone: Note, laptop: Note] {
  const kept = note.text.split('\n').filter((line) => !isSaid(line));
  const withLine = (line: string) => [...kept, line].join('\n');
  const newLine = (line: string) => !note.text.split('\n').includes(line);
  const kind = turn(kinds, round, ({ name }) => name !== note.kind)?.name ?? note.kind;
  const mark = turn(marks, round, (tag) => !note.tags.includes(tag)) ?? '';
  return [
    { ...note, text: withLine(turn(said.phone, round, newLine) ?? ''), kind, by: 'Phone' },
    {
      ...note,
      text: withLine(turn(said.laptop, round, newLine) ?? ''),
      tags: [...note.tags.filter((tag) => !isMark(tag)), mark],
      by: 'Laptop',
    },
  ];
}

/** The first usable one, beginning at another one in each round. */
function turn<Item>(items: readonly Item[], round: number, isUsable: (item: Item) => boolean): Item | undefined {
  const start = round % items.length;
  return [...items.slice(start), ...items.slice(0, start)].find(isUsable);
}
