import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { open } from './database';
import { LogIn } from './LogIn';
import { SessionView } from './SessionView';
import { showFailure } from './settee';

try {
  const session = await open();
  createRoot(document.getElementById('app') as HTMLElement).render(
    <StrictMode>{session ? <SessionView session={session} /> : <LogIn done={() => location.reload()} />}</StrictMode>,
  );
} catch (error) {
  showFailure(error);
}
