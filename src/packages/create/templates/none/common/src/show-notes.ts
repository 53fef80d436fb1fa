/** The form of a new note, and the list of all, which follows the database. */
import { addFromForm } from './add-form';
import { type Notes, photoOf, removeNote, type StoredNote, toggleNote } from './notes';

const markup = `
  <form class="add">
    <label>New note <input name="text" required maxlength="1000" autocomplete="off"></label>
    <label>Photo <input name="photo" type="file" accept="image/*"></label>
    <button type="submit">Add</button>
    <output role="alert"></output>
  </form>
  <p class="empty">Loading …</p>
  <ul class="notes" aria-label="Notes"></ul>
`;

export async function showNotes(notes: Notes, place: HTMLElement): Promise<void> {
  place.innerHTML = markup;
  const form = find<HTMLFormElement>(place, 'form');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    find(form, 'output').textContent = await addFromForm(notes, form);
  });
  const list = find(place, 'ul');
  const empty = find(place, '.empty');
  const items = new Map<string, HTMLElement>();
  const { docs, update_seq: since } = await readAll(notes);
  for (const note of docs) show(note);
  tellIfEmpty();
  for await (const { id, doc, deleted } of notes.changes({ live: true, include_docs: true, since })) {
    if (doc && !deleted) show(doc);
    else remove(id);
    tellIfEmpty();
  }

  function show(note: StoredNote): void {
    const item = toItem(notes, note);
    const former = items.get(note._id);
    // Ids begin with the time: the newest note is the first one.
    const next = [...list.children].find((other) => other.id < note._id);
    if (former) former.replaceWith(item);
    else list.insertBefore(item, next ?? null);
    items.set(note._id, item);
  }

  function remove(id: string): void {
    items.get(id)?.remove();
    items.delete(id);
  }

  function tellIfEmpty(): void {
    empty.textContent = 'No notes yet. Add the first one.';
    empty.hidden = items.size > 0;
  }
}

/** All notes, and the number of the last change that they contain: what follows it is not missed. */
async function readAll(notes: Notes): Promise<{ docs: StoredNote[]; update_seq: number }> {
  const { rows, update_seq = 0 } = await notes.all({ include_docs: true, update_seq: true });
  return { docs: rows.flatMap(({ doc }) => (doc ? [doc] : [])), update_seq };
}

function toItem(notes: Notes, note: StoredNote): HTMLElement {
  const item = Object.assign(document.createElement('li'), { id: note._id, className: note.done ? 'done' : '' });
  const box = Object.assign(document.createElement('input'), { type: 'checkbox', checked: note.done });
  box.addEventListener('change', () => toggleNote(notes, note));
  const label = document.createElement('label');
  label.append(box, Object.assign(document.createElement('span'), { textContent: note.text }));
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Delete' });
  button.setAttribute('aria-label', `Delete: ${note.text}`);
  button.addEventListener('click', () => removeNote(notes, note));
  item.append(label, button);
  const photo = photoOf(notes, note);
  if (photo) item.append(Object.assign(document.createElement('img'), { src: photo, alt: `Photo: ${note.text}` }));
  return item;
}

export function find<Found extends HTMLElement>(place: ParentNode, selector: string): Found {
  return place.querySelector(selector) as Found;
}
