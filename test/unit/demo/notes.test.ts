import { describe, expect, test } from 'vitest';
import { design } from '../../../demo/src/notes/design.ts';
import { contentOf, formatPlace, parseTags, readNote, titleOf, wordsOf } from '../../../demo/src/notes/note.ts';
import { describeRequests, quoted, sentence } from '../../../demo/src/notes/sentences.ts';

const stored = {
  _id: 'note-1',
  _rev: '1-a',
  type: 'note',
  text: 'Mésange bleue\nAt the café, 2 of them',
  kind: 'animal',
  tags: ['garden', 'Zürich'],
  latlng: [47.37, 8.54],
  time: '2026-06-01T07:40',
  by: 'Phone',
} as const;

/** What a view's map emits of a document. */
function emitted(name: keyof typeof design.views, document: object): unknown[][] {
  const rows: unknown[][] = [];
  const map = new Function('emit', `return ${design.views[name].map}`)((...row: unknown[]) => rows.push(row));
  map(document);
  return rows;
}

describe('a note', () => {
  test('is stored and read again without a difference', () => {
    const note = readNote(stored);
    expect({ _id: 'note-1', _rev: '1-a', ...contentOf(note) }).toEqual(stored);
    expect(contentOf({ ...note, place: undefined })).not.toHaveProperty('latlng');
  });

  test('has its first line as its title', () => {
    expect(titleOf(stored.text)).toBe('Mésange bleue');
    expect(titleOf('  \n ')).toBe('A note without words');
  });

  test('has tags once, in lower case', () => {
    expect(parseTags(' River, birds,, river ')).toEqual(['river', 'birds']);
  });

  test('has a place in degrees', () => {
    expect(formatPlace([-0.42, 36.1])).toBe('0.4° S, 36.1° E');
  });
});

describe('the views', () => {
  test('emit each word of a note as the search looks for it', () => {
    const words = emitted('words', stored).map(([word]) => word);
    expect(words).toEqual(['mesange', 'bleue', 'at', 'the', 'cafe', '2', 'of', 'them', 'animal', 'garden', 'zurich']);
    expect(words).toEqual([...wordsOf([stored.text, stored.kind, ...stored.tags].join(' '))]);
  });

  test('sum notes and bytes of photos for each kind and day', () => {
    expect(
      emitted('sums', { ...stored, _attachments: { 'photo.jpg': { length: 90 }, 'thumbnail.jpg': { length: 10 } } }),
    ).toEqual([
      [
        ['animal', '2026-06-01'],
        [1, 100],
      ],
    ]);
    expect(emitted('days', stored)).toEqual([[['2026-06-01', 'animal'], 1]]);
  });

  test('say how many other versions a note has', () => {
    const [row] = emitted('notes', { ...stored, _conflicts: ['2-x'] });
    expect(row).toEqual([
      '2026-06-01T07:40',
      expect.objectContaining({ rev: '1-a', photo: false, conflicts: 1, latlng: [47.37, 8.54] }),
    ]);
  });

  test('leave out what is no note', () => {
    for (const name of ['notes', 'sums', 'days', 'words'] as const) {
      expect(emitted(name, { ...stored, type: 'other' })).toEqual([]);
      expect(emitted(name, { type: 'note' }).length).toBeLessThan(2);
    }
  });
});

describe('a sentence', () => {
  test('says who did what, with how many requests, in which time, and whether it was connected', () => {
    expect(sentence('Phone', 'stored the note', [{ method: 'PUT', ms: 3.14 }], false)).toBe(
      'The phone stored the note: 1 PUT, 3.1 ms, disconnected.',
    );
    const requests = [
      { method: 'PUT', ms: 10 },
      { method: 'GET', ms: 2 },
      { method: 'PUT', ms: 8 },
    ];
    expect(describeRequests(requests)).toBe('2 PUT, 1 GET, 20 ms');
  });

  test('cuts long titles', () => {
    expect(quoted('Short')).toBe('“Short”');
    expect(quoted('x'.repeat(60))).toBe(`“${'x'.repeat(39)}…”`);
  });
});
