import { Dialog } from '../components/dialog.tsx';
import type { JsonObject } from '../server/client.ts';
import { session } from '../server/session.ts';
import { AccountForm, type Filled } from './account-form.tsx';
import { sendSecret, type UserAccount, userRequest } from './accounts.ts';

interface EditUserProps {
  readonly database: string;
  readonly user: UserAccount;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Changes the roles and the password of a user; the other members of the document stay. */
export function EditUser({ database, user, onClose, onDone }: EditUserProps) {
  return (
    <Dialog title={`Edit ${user.name}`} onClose={onClose}>
      <p>
        The roles apply to the next request{user.name === session.value.name ? '' : ` of ${user.name}`}. A new password
        ends the sessions of the old one.
      </p>
      <AccountForm
        name={user.name}
        roles={user.roles}
        isPasswordOptional
        action="Save"
        toRequest={(filled) => userRequest(database, withChanges(user.document, filled))}
        send={async (request) => {
          await sendSecret(request);
          onDone();
        }}
      />
    </Dialog>
  );
}

export function withChanges(document: JsonObject, { password, roles }: Omit<Filled, 'name'>): JsonObject {
  return { ...document, roles, ...(password !== '' && { password }) };
}
