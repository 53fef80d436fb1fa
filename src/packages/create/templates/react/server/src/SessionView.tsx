import { useSync } from 'settee/react';
import { leave, type Session } from './database';
import { LogIn } from './LogIn';
import { NoteList } from './NoteList';
import { textOf } from './sync-text';

/** The notes of the user who is logged in, and how their sync goes. */
export function SessionView({ session }: { session: Session }) {
  const status = useSync(session.sync);
  return (
    <>
      <div className="account">
        <span>{session.user}</span>{' '}
        <button type="button" className="quiet" onClick={() => leave(session)}>
          Log out
        </button>
      </div>
      <p className="sync" role="status">
        {status && textOf(status)}
      </p>
      {status?.state === 'unauthorized' && <LogIn user={session.user} done={() => session.sync.retry()} />}
      <NoteList notes={session.notes} />
    </>
  );
}
