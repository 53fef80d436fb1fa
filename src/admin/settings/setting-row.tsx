import { useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { reviewChange, type Setting } from './edit-setting.ts';
import { EFFECT_TEXTS, type Explanation, explain, isSecret as isSecretSetting } from './explain.ts';

interface SettingRowProps {
  readonly setting: Setting;
  /** The defaults that the page knows are those of this server. */
  readonly hasDefaults: boolean;
  readonly onDone: () => void;
}

export function SettingRow({ setting, hasDefaults, onDone }: SettingRowProps) {
  const { section, key, value } = setting;
  const [isEdited, setEdited] = useState(false);
  const [isShown, setShown] = useState(false);
  const known = explain(section, key);
  const isSecret = isSecretSetting(section, key) && value !== undefined;
  const isFixed = known?.effect === 'fixed';
  return (
    <li class="setting">
      <div class="setting-head">
        <h3>{key}</h3>
        {value === undefined ? (
          <span class="muted">not set</span>
        ) : (
          <code class="setting-value">{isSecret && !isShown ? '••••••' : value}</code>
        )}
        {hasDefaults && isChanged(setting) && <span class="tag warn">changed</span>}
        <span class="spring" />
        {isSecret && (
          <button
            type="button"
            class="quiet"
            aria-label={`${isShown ? 'Hide' : 'Show'} ${section}/${key}`}
            onClick={() => setShown(!isShown)}
          >
            {isShown ? 'Hide' : 'Show'}
          </button>
        )}
        <WriteButton
          class="quiet"
          needsAdmin
          label={`Change ${section}/${key}`}
          why={isFixed ? EFFECT_TEXTS.fixed : undefined}
          onClick={() => setEdited(!isEdited)}
        >
          Change
        </WriteButton>
      </div>
      <p class="muted">
        {known?.meaning ?? 'This page does not know this setting.'} {known !== undefined && EFFECT_TEXTS[known.effect]}
        {hasDefaults && known?.default !== undefined && known.default !== value && ` Default: ${known.default}.`}
      </p>
      {isEdited && (
        <EditForm
          setting={setting}
          known={known}
          onDone={() => {
            setEdited(false);
            onDone();
          }}
          onCancel={() => setEdited(false)}
        />
      )}
    </li>
  );
}

/** Whether the value differs from the default. */
export function isChanged({ section, key, value }: Setting): boolean {
  const known = explain(section, key);
  return known === undefined ? false : value !== known.default && !isSecretSetting(section, key);
}

interface EditFormProps {
  readonly setting: Setting;
  readonly known: Explanation | undefined;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

function EditForm({ setting, known, onDone, onCancel }: EditFormProps) {
  const { section, key, value } = setting;
  const [text, setText] = useState(value ?? '');
  const [failure, setFailure] = useState<unknown>(undefined);
  const show = (after: string | undefined) => {
    setFailure(undefined);
    reviewChange({ setting, after, done: onDone }).catch(setFailure);
  };
  const label = `New value of ${section}/${key}`;
  return (
    <form
      class="setting-form"
      onSubmit={(event) => {
        event.preventDefault();
        show(text);
      }}
    >
      <ValueField label={label} text={text} choices={known?.choices ?? []} onText={setText} />
      <WriteButton type="submit" class="primary" needsAdmin why={text === value ? 'The value is the same.' : undefined}>
        Review and store
      </WriteButton>
      <WriteButton needsAdmin why={whyNoReset(setting, known)} onClick={() => show(undefined)}>
        {known?.default === undefined ? 'Delete' : 'Reset to default'}
      </WriteButton>
      <button type="button" onClick={onCancel}>
        Cancel
      </button>
      <ErrorNote failure={failure} />
    </form>
  );
}

function whyNoReset({ value }: Setting, known: Explanation | undefined): string | undefined {
  if (value === undefined) return 'The setting has no value.';
  return value === known?.default ? 'It has its default.' : undefined;
}

interface ValueFieldProps {
  readonly label: string;
  readonly text: string;
  readonly choices: readonly string[];
  readonly onText: (text: string) => void;
}

function ValueField({ label, text, choices, onText }: ValueFieldProps) {
  if (choices.length === 0) {
    return (
      <input
        aria-label={label}
        value={text}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => onText(event.currentTarget.value)}
      />
    );
  }
  const all = choices.includes(text) ? choices : [text, ...choices];
  return (
    <select aria-label={label} value={text} onChange={(event) => onText(event.currentTarget.value)}>
      {all.map((choice) => (
        <option key={choice} value={choice}>
          {choice === '' ? '(not set)' : choice}
        </option>
      ))}
    </select>
  );
}
