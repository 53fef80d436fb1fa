/** The admins of the server, who may do everything. */
import { useState } from 'preact/hooks';
import { Absent } from '../components/absent.tsx';
import { Dialog } from '../components/dialog.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { Icon } from '../components/icon.tsx';
import { useLoaded } from '../components/load.ts';
import { WriteButton } from '../components/write-button.tsx';
import { review } from '../review/review.tsx';
import { ask } from '../server/client.ts';
import { configurationPath, NoConfigurationError } from '../server/configuration.ts';
import { isAdminParty, loadSession, logIn, server, session } from '../server/session.ts';
import { anyone, isBrowser } from '../server/where.ts';
import { AccountForm, type Filled } from './account-form.tsx';
import { adminRequest, listAdmins, sendSecret } from './accounts.ts';

export function Admins() {
  const { value: names, failure, reload } = useLoaded(listAdmins, []);
  /** A name: its password is changed. Null: an admin is created. */
  const [edited, setEdited] = useState<string | null | undefined>(undefined);
  const done = () => {
    setEdited(undefined);
    reload();
  };
  return (
    <section class="accounts" aria-label="Admins">
      <header class="screen-head">
        <h2>Admins</h2>
        <span class="spring" />
        {!isAdminParty.value && names !== undefined && (
          <WriteButton needsAdmin onClick={() => setEdited(null)}>
            <Icon name="plus" /> Create admin
          </WriteButton>
        )}
      </header>
      <p class="muted">
        They may do everything {isBrowser.value ? 'in this browser' : 'on this server'}. They are kept in its settings,
        with hashed passwords.
      </p>
      {failure instanceof NoConfigurationError ? (
        <Absent>{failure.message} Its admins are set where it is started.</Absent>
      ) : (
        <ErrorNote failure={failure} retry={reload} />
      )}
      {names?.length === 0 && isAdminParty.value && <FirstAdmin onDone={done} />}
      {names !== undefined && names.length > 0 && (
        <ul class="account-list">
          {names.map((name) => (
            <AdminRow key={name} name={name} all={names} onEdit={() => setEdited(name)} onDone={done} />
          ))}
        </ul>
      )}
      {edited !== undefined && (
        <Dialog
          title={edited === null ? 'Create an admin' : `Change the password of ${edited}`}
          onClose={() => setEdited(undefined)}
        >
          <AccountForm
            name={edited ?? undefined}
            action={edited === null ? 'Create' : 'Change'}
            toRequest={toRequest}
            send={async (request, filled) => {
              await sendSecret(request);
              // A new password ends the sessions of the old one.
              if (filled.name === session.value.name) await logIn(filled.name, filled.password);
              done();
            }}
          />
        </Dialog>
      )}
    </section>
  );
}

function AdminRow({
  name,
  all,
  onEdit,
  onDone,
}: {
  readonly name: string;
  readonly all: readonly string[];
  readonly onEdit: () => void;
  readonly onDone: () => void;
}) {
  return (
    <li>
      <span class="account-name">
        {name} {name === session.value.name && <span class="tag">you</span>}
      </span>
      <WriteButton class="quiet" needsAdmin label={`Change the password of ${name}`} onClick={onEdit}>
        Password
      </WriteButton>
      <WriteButton
        class="quiet"
        needsAdmin
        label={`Delete the admin ${name}`}
        onClick={() => void deleteAdmin(name, all, onDone)}
      >
        <Icon name="trash" />
      </WriteButton>
    </li>
  );
}

function FirstAdmin({ onDone }: { readonly onDone: () => void }) {
  return (
    <div class="empty">
      <h3>Create the first admin</h3>
      <p>
        As long as there is none, {anyone()} may do anything. From then on, others have to log in for what only admins
        may do. You will be logged in as the new admin.
      </p>
      <AccountForm
        action="Create and log in"
        toRequest={toRequest}
        send={async (request, { name, password }) => {
          await sendSecret(request);
          await logIn(name, password);
          onDone();
        }}
      />
    </div>
  );
}

function toRequest({ name, password }: Filled) {
  return adminRequest(name, password);
}

async function deleteAdmin(name: string, all: readonly string[], onDone: () => void): Promise<void> {
  const path = await configurationPath('admins', name);
  const isLast = all.length === 1;
  const party =
    server.value?.isSettee === false
      ? 'This is the last admin: nobody could administrate the server over HTTP any more.'
      : `This is the last admin: from then on ${anyone()} may do anything.`;
  review({
    title: `Delete the admin ${name}`,
    effects: [
      ...(isLast ? [party] : []),
      `${name} can no longer log in, unless there is a user of that name. Sessions of ${name} end at once. What ${name} has written stays.`,
    ],
    requests: [{ method: 'DELETE', path }],
    typedName: name,
    action: 'Delete',
    needsAdmin: true,
    apply: async () => {
      // Not logged: the response is the hash of the password.
      await ask('DELETE', path, { quiet: true });
      await loadSession();
      onDone();
    },
  });
}
