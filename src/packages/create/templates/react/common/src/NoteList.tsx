import { type SubmitEvent, useState } from 'react';
import { useQuery } from 'settee/react';
import { addFromForm } from './add-form';
import { type Notes, newestFirst, photoOf, removeNote, type StoredNote, toggleNote } from './notes';

/** The form of a new note, and the list of all, which follows the database. */
export function NoteList({ notes }: { notes: Notes }) {
  const { documents, status } = useQuery(notes, newestFirst);
  const [problem, setProblem] = useState('');
  const add = async (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    setProblem(await addFromForm(notes, event.currentTarget));
  };
  return (
    <>
      <form className="add" onSubmit={add}>
        <label>
          New note <input name="text" required maxLength={1000} autoComplete="off" />
        </label>
        <label>
          Photo <input name="photo" type="file" accept="image/*" />
        </label>
        <button type="submit">Add</button>
        <output role="alert">{problem}</output>
      </form>
      {documents.length === 0 && (
        <p className="empty">{status === 'loading' ? 'Loading …' : 'No notes yet. Add the first one.'}</p>
      )}
      <ul className="notes" aria-label="Notes">
        {documents.map((note) => (
          <Item key={note._id} notes={notes} note={note} />
        ))}
      </ul>
    </>
  );
}

function Item({ notes, note }: { notes: Notes; note: StoredNote }) {
  const photo = photoOf(notes, note);
  return (
    <li className={note.done ? 'done' : ''}>
      <label>
        <input type="checkbox" checked={note.done} onChange={() => toggleNote(notes, note)} />
        <span>{note.text}</span>
      </label>
      <button type="button" aria-label={`Delete: ${note.text}`} onClick={() => removeNote(notes, note)}>
        Delete
      </button>
      {photo && <img src={photo} alt={`Photo: ${note.text}`} />}
    </li>
  );
}
