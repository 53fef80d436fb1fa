/** The notes: their type, and what can be done with them. It runs in the browser, and in tests. */
import { type Database, database, type Fetch, type Stored } from 'settee/database';

export interface Note {
  readonly text: string;
  readonly done: boolean;
}

export type StoredNote = Stored<Note>;
export type Notes = Database<Note>;

/** What the list shows. Ids begin with the time, so the newest note is the first one. */
export const newestFirst = { selector: { _id: { $gt: null } }, sort: [{ _id: 'desc' }], limit: 200 } as const;

/** `address` is that of the database, such as `/db/notes`. It is created if it does not exist. */
export async function openNotes(fetch: Fetch, address: string): Promise<Notes> {
  const notes = database<Note>(fetch, address);
  await notes.create();
  return notes;
}

/** The photo is an attachment of the note: it is stored with it, as it is, and copied with it. */
export async function addNote(notes: Notes, text: string, photo?: Blob): Promise<void> {
  const _id = `${new Date().toISOString()}-${crypto.randomUUID().slice(0, 8)}`;
  const written = await notes.put({
    _id,
    text,
    done: false,
    ...(photo && { _attachments: { photo: { data: photo } } }),
  });
  if (!written.ok) throw new Error(written.reason);
}

/** If somebody else changed the note meanwhile, it is read again, and changed again. */
export async function toggleNote(notes: Notes, { _id, done }: StoredNote): Promise<void> {
  await notes.update(_id, (note) => (note ? { ...note, done: !done } : { _deleted: true }));
}

export async function removeNote(notes: Notes, { _id }: StoredNote): Promise<void> {
  await notes.update(_id, () => ({ _deleted: true }));
}

/** The address of a note's photo, for an `<img>`: the service worker answers it from the database. */
export function photoOf(notes: Notes, { _id, _attachments }: StoredNote): string | undefined {
  const photo = _attachments?.['photo'];
  return photo && `${notes.address}/${_id}/photo?digest=${encodeURIComponent(photo.digest)}`;
}
