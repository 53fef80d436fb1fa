import type { SyncState, SyncStatus } from 'settee/database';

const texts: Record<SyncState, string> = {
  pending: 'Connecting …',
  active: 'Copying …',
  paused: 'Everything is on the server.',
  denied: 'The server refused some notes.',
  offline: 'Offline. Your notes are on this device, and are copied later.',
  unauthorized: 'Log in again, so that your notes are copied.',
  error: 'Your notes can’t be copied at present.',
  complete: 'Everything was copied.',
  stopped: 'Your notes are only on this device.',
};

/** What the user reads about the sync. */
export function textOf({ state, push, pull }: SyncStatus): string {
  const failure = state === 'error' ? (push?.last_error ?? pull?.last_error) : undefined;
  return `${texts[state]} ${failure?.reason ?? ''}`.trim();
}
