import { useState } from 'preact/hooks';
import { Icon, type IconName } from '../components/icon.tsx';
import { KeysButton } from '../components/key-sheet.tsx';
import { logInAddress, route } from '../page/router.ts';
import { theme, toggleTheme } from '../page/theme.ts';
import { appAddress } from '../server/host.ts';
import { isReadOnly, logOut, server, session, setReadOnly } from '../server/session.ts';
import { capital, isBrowser, thisServer } from '../server/where.ts';

interface Entry {
  readonly name: string;
  readonly label: string;
  readonly icon: IconName;
}

const ENTRIES: readonly Entry[] = [
  { name: '', label: 'Databases', icon: 'databases' },
  { name: 'replication', label: 'Replication', icon: 'replication' },
  { name: 'activity', label: 'Activity', icon: 'activity' },
  { name: 'users', label: 'Users', icon: 'users' },
  { name: 'settings', label: 'Settings', icon: 'settings' },
  { name: 'console', label: 'Console', icon: 'console' },
  { name: 'self-test', label: 'Self-test', icon: 'check' },
];

/** Screens of databases belong to the first entry. */
function currentName(): string {
  const [first = ''] = route.value.segments;
  return first === 'db' ? '' : first;
}

export function Menu({ isOpen }: { readonly isOpen: boolean }) {
  return (
    <nav class={isOpen ? 'menu open' : 'menu'} aria-label="Screens">
      <a href="#/" class="brand">
        Settee
      </a>
      <ul>
        {ENTRIES.map(({ name, label, icon }) => (
          <li key={name}>
            <a href={`#/${name}`} aria-current={name === currentName() ? 'page' : undefined}>
              <Icon name={icon} />
              {label}
            </a>
          </li>
        ))}
      </ul>
      <div class="menu-end">
        {appAddress.value !== undefined && (
          <a href={appAddress.value} class="user">
            <Icon name="left" />
            Back to the app
          </a>
        )}
        <User />
        <label class="switch">
          <input
            type="checkbox"
            role="switch"
            checked={isReadOnly.value}
            aria-checked={isReadOnly.value}
            onChange={(event) => setReadOnly(event.currentTarget.checked)}
          />
          Read-only mode
        </label>
        <button type="button" class="quiet" onClick={toggleTheme}>
          <Icon name={theme.value === 'dark' ? 'sun' : 'moon'} />
          {theme.value === 'dark' ? 'Light colours' : 'Dark colours'}
        </button>
        <KeysButton />
        {server.value !== undefined && (
          <p class="muted">
            {server.value.product} {server.value.version}
            {isBrowser.value && ' in this browser'}
          </p>
        )}
      </div>
    </nav>
  );
}

function User() {
  const [failure, setFailure] = useState<unknown>(undefined);
  const { name, roles, hasAccounts } = session.value;
  if (!hasAccounts) return <p class="muted">{capital(thisServer())} has no accounts.</p>;
  if (name === null) {
    return (
      <a href={logInAddress()} class="user">
        <Icon name="lock" />
        Log in
      </a>
    );
  }
  return (
    <div class="user">
      <Icon name="users" />
      <span>
        {name}
        {roles.includes('_admin') && <small> · admin</small>}
      </span>
      <button type="button" class="quiet" onClick={() => void logOut().catch(setFailure)}>
        Log out
      </button>
      {failure !== undefined && <small role="alert">Logging out failed: {`${failure}`}</small>}
    </div>
  );
}
