import { useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { reviewChange } from './edit-setting.ts';

/** For sections whose keys the user chooses: virtual hosts, keys of tokens, settings of apps. */
export function AddSetting({ onDone }: { readonly onDone: () => void }) {
  const [section, setSection] = useState('');
  const [key, setKey] = useState('');
  const [value, setValue] = useState('');
  const [failure, setFailure] = useState<unknown>(undefined);
  const isComplete = section !== '' && key !== '';
  const submit = (event: Event) => {
    event.preventDefault();
    setFailure(undefined);
    const done = () => {
      setKey('');
      setValue('');
      onDone();
    };
    reviewChange({ setting: { section, key, value: undefined }, after: value, done }).catch(setFailure);
  };
  const fields = [
    ['Section', section, setSection],
    ['Key', key, setKey],
    ['Value', value, setValue],
  ] as const;
  return (
    <form class="note setting-add" onSubmit={submit}>
      <h2>Add a setting</h2>
      <p class="muted">
        You choose the keys of <code>vhosts</code>, <code>database_owners</code>, <code>jwt_keys</code>,{' '}
        <code>jwt_issuers</code>, <code>cors:HOST</code>, <code>app</code> and the sections of OAuth.
      </p>
      <div class="setting-form">
        {fields.map(([label, text, onText]) => (
          <label key={label}>
            <span>{label}</span>
            <input
              value={text}
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
              onInput={(event) => onText(event.currentTarget.value)}
            />
          </label>
        ))}
        <WriteButton type="submit" needsAdmin why={isComplete ? undefined : 'Name the section and the key.'}>
          Review and store
        </WriteButton>
      </div>
      <ErrorNote failure={failure} />
    </form>
  );
}
