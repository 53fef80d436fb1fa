/** What users who are not admins can do with their own account. */
import { ErrorNote } from '../components/error-note.tsx';
import { useLoaded } from '../components/load.ts';
import { logIn } from '../server/session.ts';
import { AccountForm } from './account-form.tsx';
import { readUser, sendSecret, userRequest } from './accounts.ts';
import { withChanges } from './edit-user.tsx';

export function OwnAccount({ database, name }: { readonly database: string; readonly name: string }) {
  const { value: user, failure, reload } = useLoaded((signal) => readUser(database, name, signal), [database, name]);
  return (
    <section class="accounts narrow" aria-label="Your account">
      <h2>Your account: {name}</h2>
      <ErrorNote failure={failure} retry={reload} />
      {user !== undefined && (
        <>
          <p>{user.roles.length === 0 ? 'You have no roles.' : `Your roles: ${user.roles.join(', ')}.`}</p>
          <AccountForm
            name={name}
            action="Change the password"
            needsAdmin={false}
            toRequest={({ password }) =>
              userRequest(database, withChanges(user.document, { password, roles: user.roles }))
            }
            send={async (request, { password }) => {
              await sendSecret(request);
              await logIn(name, password);
              reload();
            }}
          />
        </>
      )}
    </section>
  );
}
