import { useState } from 'preact/hooks';
import { LogInLink } from '../components/error-note.tsx';
import { Icon } from '../components/icon.tsx';
import { goTo } from '../page/router.ts';
import { whoText } from '../server/refusals.ts';
import { session } from '../server/session.ts';

/** Shown instead of the list of databases if the user may not read that list. */
export function OpenByName() {
  const [name, setName] = useState('');
  const open = (event: Event) => {
    event.preventDefault();
    if (name.trim() !== '') goTo(['db', name.trim()]);
  };
  return (
    <div class="empty">
      <p>
        <Icon name="lock" /> <strong>This server does not list its databases for you.</strong> {whoText(session.value)}{' '}
        You can still open a database that you may read, by its name.
      </p>
      <form class="tool-row" onSubmit={open}>
        <label class="inline-field">
          <span>Name of the database</span>
          <input
            value={name}
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary" disabled={name.trim() === ''}>
          Open
        </button>
        <LogInLink />
      </form>
    </div>
  );
}
