import { type SubmitEvent, useState } from 'react';
import { sendLogIn } from './log-in-form';

/** With a `user`, only that one may log in: the user's notes are on the screen. */
export function LogIn({ user = '', done }: { user?: string; done: () => void }) {
  const [problem, setProblem] = useState('');
  const send = async (event: SubmitEvent<HTMLFormElement>) => {
    const found = await sendLogIn(event.nativeEvent);
    setProblem(found);
    if (found === '') done();
  };
  return (
    <form className="log-in" onSubmit={send}>
      <h2>Log in</h2>
      <label>
        Name{' '}
        <input
          name="user"
          defaultValue={user}
          readOnly={user !== ''}
          required
          maxLength={100}
          autoComplete="username"
        />
      </label>
      <label>
        Password <input name="password" type="password" required autoComplete="current-password" />
      </label>
      <p>
        <button type="submit" name="action" value="log-in">
          Log in
        </button>{' '}
        {user === '' && (
          <button type="submit" name="action" value="sign-up" className="quiet">
            Sign up
          </button>
        )}
      </p>
      <output role="alert">{problem}</output>
    </form>
  );
}
