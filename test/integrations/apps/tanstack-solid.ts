import { createCollection, eq, useLiveQuery } from '@tanstack/solid-db';
import { For } from 'solid-js';
import html from 'solid-js/html';
import { render } from 'solid-js/web';
import { options, shown } from './tanstack-notes.ts';

const collection = createCollection(options);
Reflect.set(window, 'collection', collection);

function Notes() {
  const found = useLiveQuery((query) =>
    query
      .from({ note: collection })
      .where(({ note }) => eq(note.list, 'home'))
      .orderBy(({ note }) => note.text),
  );
  return html`
    <output>${() => String(found.isReady)}</output>
    <ul><${For} each=${() => found()}>${(note: { text: string }) => html`<li>${() => shown(note)}</li>`}<//></ul>
  `;
}

render(Notes, document.getElementById('app') as HTMLElement);
