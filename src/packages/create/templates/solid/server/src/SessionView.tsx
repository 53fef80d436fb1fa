import { useSync } from 'settee/solid';
import { Show } from 'solid-js';
import { leave, type Session } from './database';
import { LogIn } from './LogIn';
import { NoteList } from './NoteList';
import { textOf } from './sync-text';

/** The notes of the user who is logged in, and how their sync goes. */
export function SessionView(props: { session: Session }) {
  const status = useSync(() => props.session.sync);
  return (
    <>
      <div class="account">
        <span>{props.session.user}</span>{' '}
        <button type="button" class="quiet" onClick={() => leave(props.session)}>
          Log out
        </button>
      </div>
      <p class="sync" role="status">
        <Show when={status()}>{(current) => <>{textOf(current())}</>}</Show>
      </p>
      <Show when={status()?.state === 'unauthorized'}>
        <LogIn user={props.session.user} done={() => props.session.sync.retry()} />
      </Show>
      <NoteList notes={props.session.notes} />
    </>
  );
}
