import { createCollection, eq, useLiveQuery } from '@tanstack/react-db';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { options, shown } from './tanstack-notes.ts';

const collection = createCollection(options);
Reflect.set(window, 'collection', collection);

function Notes() {
  const { data, isReady } = useLiveQuery((query) =>
    query
      .from({ note: collection })
      .where(({ note }) => eq(note.list, 'home'))
      .orderBy(({ note }) => note.text),
  );
  return (
    <>
      <output>{String(isReady)}</output>
      <ul>
        {data.map((note) => (
          <li key={note._id}>{shown(note)}</li>
        ))}
      </ul>
    </>
  );
}

createRoot(document.getElementById('app') as HTMLElement).render(
  <StrictMode>
    <Notes />
  </StrictMode>,
);
