/** A form for a name, a password and roles, with the request that it sends. */
import { useEffect, useId, useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { RequestTexts } from '../review/review.tsx';
import type { ServerRequest } from '../server/client.ts';
import { theServer } from '../server/where.ts';
import { rolesIn, whyBadName, withoutPassword } from './accounts.ts';

export interface Filled {
  readonly name: string;
  /** Empty: the former password stays. */
  readonly password: string;
  readonly roles: readonly string[];
}

interface AccountFormProps {
  /** Undefined: it is chosen in the form. */
  readonly name?: string | undefined;
  /** Undefined: the account has no roles that can be chosen. */
  readonly roles?: readonly string[] | undefined;
  /** The former password may stay. */
  readonly isPasswordOptional?: boolean;
  readonly action: string;
  readonly needsAdmin?: boolean;
  readonly toRequest: (filled: Filled) => Promise<ServerRequest> | ServerRequest;
  readonly send: (request: ServerRequest, filled: Filled) => Promise<void>;
}

export function AccountForm(props: AccountFormProps) {
  const { roles, isPasswordOptional = false, action, needsAdmin = true, toRequest, send } = props;
  const [name, setName] = useState(props.name ?? '');
  const [password, setPassword] = useState('');
  const [again, setAgain] = useState('');
  const [roleText, setRoleText] = useState(roles?.join(', ') ?? '');
  const [failure, setFailure] = useState<unknown>(undefined);
  const [request, setRequest] = useState<ServerRequest | undefined>(undefined);
  const filled = { name, password, roles: rolesIn(roleText) };
  const areDifferent = again !== '' && again !== password;
  const why = whyNot(filled, again, isPasswordOptional);
  useEffect(() => {
    if (why !== undefined) setRequest(undefined);
    else void Promise.resolve(toRequest(filled)).then(setRequest, setFailure);
  }, [name, password, roleText, why]);
  const submit = async (event: Event) => {
    event.preventDefault();
    setFailure(undefined);
    try {
      await send(await toRequest(filled), filled);
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <form class="form account-form" onSubmit={(event) => void submit(event)}>
      {props.name === undefined && <TextField label="Name" value={name} onInput={setName} autocomplete="off" />}
      {name !== '' && whyBadName(name) !== undefined && <p class="field-error">{whyBadName(name)}</p>}
      <TextField
        label={isPasswordOptional ? 'New password (empty: it stays)' : 'Password'}
        value={password}
        onInput={setPassword}
        isSecret
      />
      <TextField label="Password again" value={again} onInput={setAgain} isSecret />
      {areDifferent && <p class="field-error">The passwords differ.</p>}
      {roles !== undefined && (
        <TextField label="Roles, with commas between them" value={roleText} onInput={setRoleText} />
      )}
      <ErrorNote failure={failure} />
      {request !== undefined && <RequestTexts requests={[withoutPassword(request)]} />}
      <WriteButton
        type="submit"
        class="primary"
        needsAdmin={needsAdmin}
        why={why ?? whyNotShown(request)}
        saysWhy={why !== undefined && !areDifferent}
      >
        {action}
      </WriteButton>
    </form>
  );
}

/** What writes is shown first. */
function whyNotShown(request: ServerRequest | undefined): string | undefined {
  return request === undefined ? 'The request is not shown yet.' : undefined;
}

function whyNot({ name, password, roles }: Filled, again: string, isPasswordOptional: boolean): string | undefined {
  const badRole = roles.find((role) => role.startsWith('_'));
  if (badRole !== undefined) return `Roles with an underscore at their beginning belong to ${theServer()}: ${badRole}.`;
  if (password === '' && !isPasswordOptional) return whyBadName(name) ?? 'The account needs a password.';
  if (password !== again) return 'Type the same password twice.';
  return whyBadName(name);
}

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly isSecret?: boolean;
  readonly autocomplete?: 'on' | 'off';
}

function TextField({ label, value, onInput, isSecret = false, autocomplete = 'on' }: TextFieldProps) {
  const id = useId();
  const common = { id, value, spellcheck: false, autocapitalize: 'none' } as const;
  const input = (event: { readonly currentTarget: HTMLInputElement }) => onInput(event.currentTarget.value);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {isSecret ? (
        <input {...common} type="password" autocomplete="new-password" onInput={input} />
      ) : (
        <input {...common} type="text" autocomplete={autocomplete} onInput={input} />
      )}
    </div>
  );
}
