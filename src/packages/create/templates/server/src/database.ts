import { type Sync, sync } from 'settee/database';
import { type Notes, openNotes } from './notes';
import { currentUser, hexOf, logOut, server } from './session';
import { startSettee } from './settee';

/** Who is logged in on this device, with what belongs to them. */
export interface Session {
  readonly user: string;
  readonly notes: Notes;
  readonly sync: Sync;
}

/** Undefined if no one is logged in. Each user has a database of their own, here and on the server. */
export async function open(): Promise<Session | undefined> {
  // Another tab has logged in or out.
  addEventListener('storage', ({ key }) => key === 'user' && location.reload());
  const { fetch } = await startSettee();
  const user = currentUser();
  if (user === undefined) return undefined;
  const notes = await openNotes(fetch, `/db/notes-${hexOf(user)}`);
  return { user, notes, sync: sync(notes, `${server}/userdb-${hexOf(user)}`, { auth: { session: true } }) };
}

/** The sync ends first: otherwise the next user's session would copy this user's notes. These stay on the device. */
export async function leave({ sync }: Session): Promise<void> {
  await sync.stop();
  await logOut();
  location.reload();
}
