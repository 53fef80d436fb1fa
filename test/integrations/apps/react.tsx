import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { useDocument, useQuery, useSync } from 'settee/react';
import { notes } from './notes.ts';

function Notes() {
  const [list, setList] = useState('home');
  const { documents, status } = useQuery(notes, { selector: { list }, fields: ['_id', 'text'] });
  // @ts-expect-error The query does not ask for it.
  void documents[0]?.list;
  const { document: first } = useDocument(notes, documents[0]?._id);
  return (
    <>
      <button type="button" id="home" onClick={() => setList('home')} />
      <button type="button" id="work" onClick={() => setList('work')} />
      <output>{status}</output>
      <p>{first?.text}</p>
      <i>{useSync(undefined)?.state ?? 'no sync'}</i>
      <ul>
        {documents.map((note) => (
          <li key={note._id}>{note.text}</li>
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
