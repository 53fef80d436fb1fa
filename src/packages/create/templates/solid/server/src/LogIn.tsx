import { createSignal, Show } from 'solid-js';
import { sendLogIn } from './log-in-form';

/** With a `user`, only that one may log in: the user's notes are on the screen. */
export function LogIn(props: { user?: string; done: () => void }) {
  const [problem, setProblem] = createSignal('');
  const user = () => props.user ?? '';
  const send = async (event: SubmitEvent) => {
    const found = await sendLogIn(event);
    setProblem(found);
    if (found === '') props.done();
  };
  return (
    <form class="log-in" onSubmit={send}>
      <h2>Log in</h2>
      <label>
        Name{' '}
        <input name="user" value={user()} readOnly={user() !== ''} required maxLength={100} autocomplete="username" />
      </label>
      <label>
        Password <input name="password" type="password" required autocomplete="current-password" />
      </label>
      <p>
        <button type="submit" name="action" value="log-in">
          Log in
        </button>{' '}
        <Show when={user() === ''}>
          <button type="submit" name="action" value="sign-up" class="quiet">
            Sign up
          </button>
        </Show>
      </p>
      <output role="alert">{problem()}</output>
    </form>
  );
}
