import { setupServer } from 'msw/node';
import { handlers } from 'settee/msw';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { addNote, type Notes, newestFirst, openNotes, photoOf, removeNote, toggleNote } from '../src/notes';

// A real database, in memory: a new one for each test.
const server = setupServer();
let notes: Notes;
beforeAll(() => server.listen());
beforeEach(async () => {
  server.resetHandlers(...handlers({ base: '/db/' }));
  notes = await openNotes(fetch, 'http://localhost/db/notes');
});
afterAll(() => server.close());

async function readAll() {
  return (await notes.find(newestFirst)).docs;
}

test('a note is kept, changed and deleted', async () => {
  await addNote(notes, 'Buy milk');
  const [note] = await readAll();
  expect(note).toMatchObject({ text: 'Buy milk', done: false });
  if (note === undefined) return;
  await toggleNote(notes, note);
  expect(await readAll()).toMatchObject([{ text: 'Buy milk', done: true }]);
  await removeNote(notes, note);
  expect(await readAll()).toEqual([]);
});

test('a photo is stored with its note', async () => {
  await addNote(notes, 'A view', new Blob(['pixels'], { type: 'image/jpeg' }));
  const [note] = await readAll();
  const address = note && photoOf(notes, note);
  const response = await fetch(String(address));
  expect(response.headers.get('content-type')).toBe('image/jpeg');
  expect(await response.text()).toBe('pixels');
});
