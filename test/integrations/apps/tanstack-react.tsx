import { createCollection, eq, useLiveQuery } from '@tanstack/react-db';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { options, shown } from './tanstack-notes.ts';

const collection = createCollection(options);
Reflect.set(window, 'collection', collection);

/** For the compiler: rows have the type of the database's documents. */
export function misspelt(): void {
  // @ts-expect-error A note has no such member.
  collection.insert({ _id: 'a', text: 'milk', list: 'home', other: 1 });
  // @ts-expect-error A note must have a list.
  collection.insert({ _id: 'a', text: 'milk' });
  collection.update('a', (draft) => {
    // @ts-expect-error It is a text.
    draft.text = 1;
  });
}

function Notes() {
  const { data, isReady } = useLiveQuery((query) =>
    query
      .from({ note: collection })
      .where(({ note }) => eq(note.list, 'home'))
      .orderBy(({ note }) => note.text),
  );
  // @ts-expect-error A note has no such member.
  void data[0]?.other;
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
