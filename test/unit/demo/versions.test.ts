import { describe, expect, test } from 'vitest';
import type { Note } from '../../../demo/src/notes/note.ts';
import {
  commonAncestor,
  differences,
  inFixedOrder,
  resolve,
  tornEdits,
  toVersion,
  type Version,
} from '../../../demo/src/notes/versions.ts';

const note: Note = {
  text: 'Heron',
  kind: 'animal',
  tags: ['river'],
  place: [38.7, -9.1],
  time: '2026-06-01T07:40',
  by: 'Phone',
};

function version(rev: string, changes: Partial<Note> = {}, files: Version['files'] = {}): Version {
  return { rev, note: { ...note, ...changes }, files, ancestors: ['2-b', '1-a'] };
}

const base = version('2-b');
const phone = version('3-p', { text: 'Heron\nGone.', kind: 'view' });
const laptop = version('3-l', { text: 'Heron\nCheck.', tags: ['river', 'again'], by: 'Laptop' });

describe('versions of a note', () => {
  test('are read from documents that may have been edited to anything', () => {
    const read = toVersion({
      _id: 'note-1',
      _rev: '3-c',
      _revisions: { start: 3, ids: ['c', 'b', 'a'] },
      text: 5,
      tags: ['x', 1],
      latlng: [95, 0],
    });
    expect(read.ancestors).toEqual(['2-b', '1-a']);
    expect(read.note).toEqual({ text: '', kind: '', tags: ['x'], place: undefined, time: '', by: '' });
  });

  test('come in the same order on both devices', () => {
    expect(inFixedOrder([laptop, phone])).toEqual([phone, laptop]);
    expect(inFixedOrder([phone, laptop])).toEqual([phone, laptop]);
  });

  test('have the latest revision in common from which all of them come', () => {
    expect(commonAncestor([phone, laptop])).toBe('2-b');
    expect(commonAncestor([phone, { ...laptop, ancestors: ['2-x', '1-a'] }])).toBe('1-a');
    expect(commonAncestor([phone, { ...laptop, ancestors: ['1-x'] }])).toBeUndefined();
  });

  test('differ by fields, of which those that one side changed are taken from it, and texts and tags can be joined', () => {
    expect(differences([phone, laptop], base)).toEqual([
      { field: 'text', values: ['Heron\nGone.', 'Heron\nCheck.'], canJoin: true, proposed: 'both' },
      { field: 'kind', values: ['View', 'Animal'], canJoin: false, proposed: 0 },
      { field: 'tags', values: ['river', 'river, again'], canJoin: true, proposed: 1 },
    ]);
  });

  test('are not judged by who changed what if their ancestor is no longer stored', () => {
    expect(differences([phone, laptop], undefined).map(({ field, proposed }) => [field, proposed])).toEqual([
      ['text', 'both'],
      ['kind', 0],
      ['tags', 'both'],
    ]);
  });
});

describe('a resolution', () => {
  test('takes each field from the chosen version, and joins what stands beside each other', () => {
    const resolution = resolve([phone, laptop], { text: 'both', kind: 0, tags: 1 }, 'Laptop');
    expect(resolution?.note).toEqual({
      text: 'Heron\nGone.\nCheck.',
      kind: 'view',
      tags: ['river', 'again'],
      place: [38.7, -9.1],
      time: '2026-06-01T07:40',
      by: 'Laptop',
    });
    expect(resolution?.continued).toBe(phone);
    expect(resolution?.others).toEqual([laptop]);
  });

  test('continues the version whose photo is kept, of any number of versions', () => {
    const third = version('3-t', { by: 'Tablet' }, { 'photo.jpg': { content_type: 'image/jpeg', digest: 'md5-x' } });
    const resolution = resolve([phone, laptop, third], { text: 1, photo: 2 }, 'Phone');
    expect(resolution?.note.text).toBe('Heron\nCheck.');
    expect(resolution?.continued).toBe(third);
    expect(resolution?.others).toEqual([phone, laptop]);
  });
});

describe('the conflict that is made on request', () => {
  test('is another one in each round, and keeps what the user wrote', () => {
    const seen = new Set<string>();
    let current: Note = { ...note, text: 'Heron\nAt the landing.' };
    for (let round = 0; round < 12; round++) {
      const [one, other] = tornEdits(current, round);
      expect(one.text.startsWith('Heron\nAt the landing.\n')).toBe(true);
      expect(other.text.startsWith('Heron\nAt the landing.\n')).toBe(true);
      expect(one.text).not.toBe(other.text);
      expect(one.kind).not.toBe(current.kind);
      expect(other.tags).not.toEqual(current.tags);
      expect([one.text, other.text]).not.toContain(current.text);
      const choices = `${one.text} ${one.kind} | ${other.text} ${other.tags}`;
      expect(seen).not.toContain(choices);
      seen.clear();
      seen.add(choices);
      current = { ...(round % 2 === 0 ? one : other) };
    }
  });

  test('leaves no lines and tags of earlier rounds', () => {
    const [one] = tornEdits(note, 0);
    const [, other] = tornEdits(one, 1);
    expect(one.text).toBe('Heron\nSeen from the path, in the last light.');
    expect(other.text).toBe('Heron\nTo be checked against the guide.');
    expect(tornEdits(other, 2)[1].tags).toHaveLength(2);
  });
});
