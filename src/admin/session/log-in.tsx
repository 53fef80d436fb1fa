import { useState } from 'preact/hooks';
import { Absent } from '../components/absent.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { route } from '../page/router.ts';
import { logIn, session } from '../server/session.ts';

export function LogIn() {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isRunning, setRunning] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setRunning(true);
    setFailure(undefined);
    try {
      await logIn(name, password, code.trim());
      location.hash = returnAddress();
    } catch (error) {
      setFailure(error);
    } finally {
      setRunning(false);
    }
  };
  return (
    <section class="narrow">
      <header class="screen-head">
        <h1>Log in</h1>
      </header>
      {session.value.name !== null && <p>You are logged in as {session.value.name}.</p>}
      {!session.value.hasAccounts && (
        <Absent>This server has no _session, so it has no accounts: everyone who reaches it may do everything.</Absent>
      )}
      <ErrorNote failure={failure} />
      <form class="form" onSubmit={(event) => void submit(event)}>
        <label class="field">
          <span>Name</span>
          <input
            required
            autocomplete="username"
            autocapitalize="none"
            spellcheck={false}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>Password</span>
          <input
            required
            type="password"
            autocomplete="current-password"
            value={password}
            onInput={(event) => setPassword(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>Code</span>
          <input
            inputmode="numeric"
            autocomplete="one-time-code"
            placeholder="only if you use an authenticator app"
            value={code}
            onInput={(event) => setCode(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary" disabled={isRunning}>
          Log in
        </button>
      </form>
    </section>
  );
}

/** The screen that needed another user. */
function returnAddress(): string {
  const to = route.value.query.get('to') ?? '';
  return to.startsWith('#/') && !to.startsWith('#/login') ? to : '#/';
}
