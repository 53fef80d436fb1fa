/** Who may use the server: its admins and its users. */
import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { Absent } from '../components/absent.tsx';
import { Dialog } from '../components/dialog.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { Icon } from '../components/icon.tsx';
import { useLoaded } from '../components/load.ts';
import { NeedsAdmin } from '../components/needs-admin.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { review } from '../review/review.tsx';
import { ask, ServerError } from '../server/client.ts';
import { isAdmin, session } from '../server/session.ts';
import { AccountForm } from './account-form.tsx';
import { listUsers, newUser, sendSecret, type UserAccount, userPath, userRequest, usersDatabase } from './accounts.ts';
import { Admins } from './admins.tsx';
import { EditUser } from './edit-user.tsx';
import { OwnAccount } from './own-account.tsx';
import './users.css';

const PER_PAGE = 50;

export function Users() {
  const { value: database, failure, reload } = useLoaded((signal) => usersDatabase(signal), []);
  return (
    <section>
      <header class="screen-head">
        <h1>Users</h1>
      </header>
      <ErrorNote failure={failure} retry={reload} />
      {!session.value.hasAccounts ? (
        <Absent>
          This server has no _session, so it has no accounts: everyone who reaches it may do everything. Let only those
          reach it who may.
        </Absent>
      ) : isAdmin.value ? (
        <>
          <Admins />
          {database !== undefined && <UserList database={database} />}
        </>
      ) : (
        <>
          <NeedsAdmin what="the list of accounts" />
          {session.value.name !== null && database !== undefined && (
            <OwnAccount database={database} name={session.value.name} />
          )}
        </>
      )}
    </section>
  );
}

function UserList({ database }: { readonly database: string }) {
  const [prefix, setPrefix] = useState('');
  const [skip, setSkip] = useState(0);
  const [edited, setEdited] = useState<UserAccount | null | undefined>(undefined);
  const {
    value: page,
    failure,
    reload,
  } = useLoaded((signal) => listUsers(database, { prefix, skip, limit: PER_PAGE }, signal), [database, prefix, skip]);
  const isMissing = failure instanceof ServerError && failure.status === 404;
  const done = () => {
    setEdited(undefined);
    reload();
  };
  return (
    <section class="accounts" aria-label="Users">
      <header class="screen-head">
        <h2>Users</h2>
        <span class="spring" />
        {!isMissing && (
          <WriteButton needsAdmin onClick={() => setEdited(null)}>
            <Icon name="plus" /> Create user
          </WriteButton>
        )}
      </header>
      <p class="muted">
        They may do what the security of each database permits by their name or their roles. They are documents of{' '}
        <code>{database}</code>.
      </p>
      {isMissing ? <NoUsers database={database} onDone={reload} /> : <ErrorNote failure={failure} retry={reload} />}
      {!isMissing && (
        <label class="search">
          <Icon name="search" />
          <input
            type="search"
            placeholder="Name begins with …"
            aria-label="Name begins with"
            spellcheck={false}
            autocapitalize="none"
            value={prefix}
            onInput={(event) => {
              setSkip(0);
              setPrefix(event.currentTarget.value);
            }}
          />
        </label>
      )}
      {page !== undefined && (
        <UserRows users={page.users} prefix={prefix} database={database} onEdit={setEdited} onDone={done} />
      )}
      {page !== undefined && (skip > 0 || page.hasMore) && (
        <Pager skip={skip} hasMore={page.hasMore} onSkip={setSkip} />
      )}
      {edited === null && <CreateUser database={database} onClose={() => setEdited(undefined)} onDone={done} />}
      {edited !== null && edited !== undefined && (
        <EditUser database={database} user={edited} onClose={() => setEdited(undefined)} onDone={done} />
      )}
    </section>
  );
}

function NoUsers({ database, onDone }: { readonly database: string; readonly onDone: () => void }) {
  const create = () =>
    review({
      title: `Create ${database}`,
      effects: [
        'The database of the users is created. Only admins can read all of it, and each user their own document.',
      ],
      requests: [{ method: 'PUT', path: userDatabasePath(database) }],
      action: 'Create',
      needsAdmin: true,
      apply: async () => {
        await ask('PUT', userDatabasePath(database));
        onDone();
      },
    });
  return (
    <div class="empty">
      <p>
        This server has no users yet: the database <code>{database}</code> that holds them does not exist.
      </p>
      <WriteButton class="primary" needsAdmin onClick={create}>
        Create the database of users
      </WriteButton>
    </div>
  );
}

function userDatabasePath(database: string): string {
  return encodeURIComponent(database);
}

interface RowsProps {
  readonly users: readonly UserAccount[];
  readonly prefix: string;
  readonly database: string;
  readonly onEdit: (user: UserAccount) => void;
  readonly onDone: () => void;
}

function UserRows({ users, prefix, database, onEdit, onDone }: RowsProps) {
  if (users.length === 0) {
    return <p class="muted">{prefix === '' ? 'There is no user yet.' : `No name begins with “${prefix}”.`}</p>;
  }
  return (
    <ul class="account-list">
      {users.map((user) => (
        <li key={user.name}>
          <span class="account-name">
            {user.name} {user.name === session.value.name && <span class="tag">you</span>}
            {user.roles.map((role) => (
              <Fragment key={role}>
                {' '}
                <span class="tag">{role}</span>
              </Fragment>
            ))}
          </span>
          <WriteButton class="quiet" needsAdmin label={`Edit ${user.name}`} onClick={() => onEdit(user)}>
            Edit
          </WriteButton>
          <WriteButton
            class="quiet"
            needsAdmin
            label={`Delete the user ${user.name}`}
            onClick={() => deleteUser(database, user, onDone)}
          >
            <Icon name="trash" />
          </WriteButton>
        </li>
      ))}
    </ul>
  );
}

function Pager({
  skip,
  hasMore,
  onSkip,
}: {
  readonly skip: number;
  readonly hasMore: boolean;
  readonly onSkip: (skip: number) => void;
}) {
  return (
    <div class="tool-row">
      <button type="button" disabled={skip === 0} onClick={() => onSkip(Math.max(0, skip - PER_PAGE))}>
        <Icon name="left" /> Previous
      </button>
      <span class="muted">from {skip + 1}</span>
      <button type="button" disabled={!hasMore} onClick={() => onSkip(skip + PER_PAGE)}>
        Next <Icon name="right" />
      </button>
    </div>
  );
}

function CreateUser({
  database,
  onClose,
  onDone,
}: {
  readonly database: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  return (
    <Dialog title="Create a user" onClose={onClose}>
      <AccountForm
        roles={[]}
        action="Create"
        toRequest={({ name, password, roles }) => userRequest(database, newUser(name, password, roles))}
        send={async (request) => {
          await sendSecret(request);
          onDone();
        }}
      />
    </Dialog>
  );
}

function deleteUser(database: string, { name, document }: UserAccount, onDone: () => void): void {
  const path = `${userPath(database, name)}?rev=${encodeURIComponent(`${document['_rev']}`)}`;
  review({
    title: `Delete the user ${name}`,
    effects: [
      `${name} can no longer log in, and what ${name} has open ends. What ${name} has written stays, and so does the name in the security of databases.`,
    ],
    requests: [{ method: 'DELETE', path }],
    typedName: name,
    action: 'Delete',
    needsAdmin: true,
    apply: async () => {
      await ask('DELETE', path);
      onDone();
    },
  });
}
