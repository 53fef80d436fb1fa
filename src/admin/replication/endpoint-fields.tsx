import { useId } from 'preact/hooks';
import { thisServer } from '../server/where.ts';
import { type EndpointValues, needsCredentials } from './form-values.ts';

interface EndpointFieldsProps {
  readonly title: 'Source' | 'Target';
  readonly values: EndpointValues;
  readonly databases: readonly string[];
  readonly onChange: (values: EndpointValues) => void;
}

const kinds = () =>
  [
    { kind: 'local', label: `A database of ${thisServer()}` },
    { kind: 'url', label: 'An address' },
  ] as const;

/** Where documents come from, or go to: a database of this server or an address, with a name and a password. */
export function EndpointFields({ title, values, databases, onChange }: EndpointFieldsProps) {
  const listId = useId();
  const { kind, database, url } = values;
  const change = (part: Partial<EndpointValues>) => onChange({ ...values, ...part });
  return (
    <fieldset class="endpoint">
      <legend>{title}</legend>
      <div class="choice-row">
        {kinds().map((one) => (
          <label class="choice" key={one.kind}>
            <input
              type="radio"
              name={`${title} kind`}
              checked={kind === one.kind}
              onChange={() => change({ kind: one.kind })}
            />
            {one.label}
          </label>
        ))}
      </div>
      {kind === 'local' ? (
        <label class="field">
          <span>{title} database</span>
          <input
            value={database}
            list={listId}
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            onInput={(event) => change({ database: event.currentTarget.value })}
          />
        </label>
      ) : (
        <label class="field">
          <span>{title} address</span>
          <input
            type="url"
            value={url}
            placeholder="https://example.org/library"
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => change({ url: event.currentTarget.value.trim() })}
          />
        </label>
      )}
      <datalist id={listId}>
        {databases.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {needsCredentials(kind) && <Credentials title={title} values={values} change={change} />}
    </fieldset>
  );
}

interface CredentialsProps extends Pick<EndpointFieldsProps, 'title' | 'values'> {
  readonly change: (part: Partial<EndpointValues>) => void;
}

function Credentials({ title, values, change }: CredentialsProps) {
  return (
    <div class="two-fields">
      <label class="field">
        <span>{title} user name</span>
        <input
          value={values.name}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          onInput={(event) => change({ name: event.currentTarget.value })}
        />
      </label>
      <label class="field">
        <span>{title} password</span>
        <input
          type="password"
          value={values.password}
          autocomplete="new-password"
          onInput={(event) => change({ password: event.currentTarget.value })}
        />
      </label>
    </div>
  );
}
