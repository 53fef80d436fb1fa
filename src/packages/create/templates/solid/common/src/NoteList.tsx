import { useQuery } from 'settee/solid';
import { createSignal, For, Show } from 'solid-js';
import { addFromForm } from './add-form';
import { type Notes, newestFirst, photoOf, removeNote, toggleNote } from './notes';

/** The form of a new note, and the list of all, which follows the database. */
export function NoteList(props: { notes: Notes }) {
  const shown = useQuery(props.notes, newestFirst);
  const [problem, setProblem] = createSignal('');
  const add = async (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    setProblem(await addFromForm(props.notes, event.currentTarget));
  };
  return (
    <>
      <form class="add" onSubmit={add}>
        <label>
          New note <input name="text" required maxLength={1000} autocomplete="off" />
        </label>
        <label>
          Photo <input name="photo" type="file" accept="image/*" />
        </label>
        <button type="submit">Add</button>
        <output role="alert">{problem()}</output>
      </form>
      <Show when={shown().documents.length === 0}>
        <p class="empty">{shown().status === 'loading' ? 'Loading …' : 'No notes yet. Add the first one.'}</p>
      </Show>
      <ul class="notes" aria-label="Notes">
        <For each={shown().documents}>
          {(note) => (
            <li class={note.done ? 'done' : ''}>
              <label>
                <input type="checkbox" checked={note.done} onChange={() => toggleNote(props.notes, note)} />
                <span>{note.text}</span>
              </label>
              <button type="button" aria-label={`Delete: ${note.text}`} onClick={() => removeNote(props.notes, note)}>
                Delete
              </button>
              <Show when={photoOf(props.notes, note)}>
                {(photo) => <img src={photo()} alt={`Photo: ${note.text}`} />}
              </Show>
            </li>
          )}
        </For>
      </ul>
    </>
  );
}
