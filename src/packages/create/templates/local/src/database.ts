import { type Notes, openNotes } from './notes';
import { startSettee } from './settee';

export async function open(): Promise<Notes> {
  const { fetch } = await startSettee();
  return openNotes(fetch, '/db/notes');
}
