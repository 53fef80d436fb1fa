/** Who may do what with a database. */
import { useState } from 'preact/hooks';
import { Absent } from '../components/absent.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { Icon } from '../components/icon.tsx';
import { useLoaded } from '../components/load.ts';
import { WriteButton } from '../components/write-button.tsx';
import type { DatabaseScreenProps } from '../page/screen-props.ts';
import { review } from '../review/review.tsx';
import { ask } from '../server/client.ts';
import { whyNoDatabaseAdmin } from '../server/rights.ts';
import { isAdminParty, isMissingEndpoint } from '../server/session.ts';
import { NameList } from './name-list.tsx';
import {
  adminsText,
  LISTS,
  type ListName,
  type NeedsLogin,
  readersText,
  readNeedsLogin,
  readSecurity,
  type Security as SecurityObject,
  securityPath,
  toStored,
} from './security-object.ts';
import './security.css';
import { anyone, capital, isBrowser, thisServer } from '../server/where.ts';

const TITLES: Readonly<Record<ListName, string>> = { admins: 'Admins of this database', members: 'Members' };
const MEANINGS: Readonly<Record<ListName, string>> = {
  admins: 'They read and write, and change design documents, indexes and this list.',
  members: 'They read and write documents. If none is named, everyone is one.',
};

export function Security({ database }: DatabaseScreenProps) {
  const { value, failure, reload } = useLoaded((signal) => readSecurity(database, signal), [database]);
  const { value: needsLogin } = useLoaded(readNeedsLogin, []);
  const [edited, setEdited] = useState<SecurityObject | undefined>(undefined);
  const shown = edited ?? value;
  const done = () => {
    setEdited(undefined);
    reload();
  };
  return (
    <section class="security">
      {isMissingEndpoint(failure) ? (
        <Absent>
          This server has no _security: everyone who reaches it can read and write all databases, unless something in
          front of it decides otherwise.
        </Absent>
      ) : (
        <ErrorNote failure={failure} retry={reload} />
      )}
      {whyNoDatabaseAdmin(database) !== undefined && <p class="note">{whyNoDatabaseAdmin(database)}</p>}
      {value !== undefined && <Now security={value} needsLogin={needsLogin} isSystem={database.startsWith('_')} />}
      {shown !== undefined &&
        LISTS.map((list) => (
          <section key={list} class="note people" aria-label={TITLES[list]}>
            <h2>{TITLES[list]}</h2>
            <p class="muted">{MEANINGS[list]}</p>
            <div class="people-lists">
              <NameList
                label={list === 'admins' ? 'Users who are admins' : 'Users who are members'}
                kind="user"
                names={shown[list].names}
                onNames={(names) => setEdited({ ...shown, [list]: { ...shown[list], names } })}
              />
              <NameList
                label={list === 'admins' ? 'Roles of admins' : 'Roles of members'}
                kind="role"
                names={shown[list].roles}
                onNames={(roles) => setEdited({ ...shown, [list]: { ...shown[list], roles } })}
              />
            </div>
          </section>
        ))}
      {edited !== undefined && value !== undefined && (
        <div class="note edited" role="status">
          <p>
            <strong>Not stored yet.</strong> After the change{onceInForce()}: {readersText(edited, needsLogin)}{' '}
            {adminsText(edited)}
          </p>
          <div class="tool-row">
            <WriteButton
              class="primary"
              adminOf={database}
              onClick={() => reviewSecurity({ database, value, edited, needsLogin, done })}
            >
              Review and store
            </WriteButton>
            <button type="button" onClick={() => setEdited(undefined)}>
              Discard
            </button>
          </div>
        </div>
      )}
    </section>
  );
}

interface NowProps {
  readonly security: SecurityObject;
  readonly needsLogin: NeedsLogin;
  readonly isSystem: boolean;
}

function Now({ security, needsLogin, isSystem }: NowProps) {
  return (
    <section class="note" aria-label="Who can do what now">
      <h2>
        <Icon name="lock" /> Now
      </h2>
      {isAdminParty.value && (
        <p>
          <strong>
            {capital(thisServer())} has no admin: {anyone()} can do everything with this database, whatever it says
            here.
          </strong>{' '}
          Once there is an admin, this holds:
        </p>
      )}
      <p>{readersText(security, needsLogin)}</p>
      <p>{adminsText(security)}</p>
      {isSystem && (
        <p>
          This is a database of {isBrowser.value ? 'Settee' : 'the server'} itself: who is not its admin reads and
          writes only what concerns them, such as their own account.
        </p>
      )}
    </section>
  );
}

/** Without an admin everyone is one, so that no list counts. */
function onceInForce(): string {
  return isAdminParty.value ? ', once there is an admin' : '';
}

interface ChangeOfSecurity {
  readonly database: string;
  readonly value: SecurityObject;
  readonly edited: SecurityObject;
  readonly needsLogin: NeedsLogin;
  readonly done: () => void;
}

function reviewSecurity({ database, value, edited, needsLogin, done }: ChangeOfSecurity): void {
  const path = securityPath(database);
  const json = toStored(edited);
  review({
    title: `Change the security of ${database}`,
    effects: [
      `Before${onceInForce()}: ${readersText(value, needsLogin)}`,
      `After${onceInForce()}: ${readersText(edited, needsLogin)} ${adminsText(edited)}`,
      isAdminParty.value
        ? 'It has no effect before there is an admin. It does not replicate: copies have their own security.'
        : 'It takes effect at once: who loses the right to read loses open feeds, too. It does not replicate: copies have their own security.',
    ],
    changes: [
      { name: '_security', before: JSON.stringify(value.stored, null, 2), after: JSON.stringify(json, null, 2) },
    ],
    requests: [{ method: 'PUT', path, json: JSON.stringify(json) }],
    action: 'Store',
    adminOf: database,
    apply: async () => {
      await ask('PUT', path, { json });
      done();
    },
  });
}
