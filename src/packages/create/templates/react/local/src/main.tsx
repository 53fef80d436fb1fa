import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { open } from './database';
import { NoteList } from './NoteList';
import { showFailure } from './settee';

try {
  const notes = await open();
  createRoot(document.getElementById('app') as HTMLElement).render(
    <StrictMode>
      <NoteList notes={notes} />
    </StrictMode>,
  );
} catch (error) {
  showFailure(error);
}
