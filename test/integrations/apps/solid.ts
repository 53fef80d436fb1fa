import { useDocument, useQuery, useSync } from 'settee/solid';
import { createSignal, For } from 'solid-js';
import html from 'solid-js/html';
import { render } from 'solid-js/web';
import { notes } from './notes.ts';

function Notes() {
  const [list, setList] = createSignal('home');
  const shown = useQuery(notes, () => ({ selector: { list: list() }, fields: ['_id', 'text'] as const }));
  const first = useDocument(notes, () => shown().documents[0]?._id);
  const sync = useSync(undefined);
  return html`
    <button id="home" onClick=${() => setList('home')} />
    <button id="work" onClick=${() => setList('work')} />
    <output>${() => shown().status}</output>
    <p>${() => first().document?.text}</p>
    <i>${() => sync()?.state ?? 'no sync'}</i>
    <ul><${For} each=${() => shown().documents}>${(note: { text: string }) => html`<li>${note.text}</li>`}<//></ul>
  `;
}

render(Notes, document.getElementById('app') as HTMLElement);
