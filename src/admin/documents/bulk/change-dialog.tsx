/** Asks what is to be changed in the selected documents. */
import { useState } from 'preact/hooks';
import { Dialog } from '../../components/dialog.tsx';
import { Editor } from '../../editor/editor.tsx';
import { type BulkChange, parsePatch, parseRemove, parseSet } from './change.ts';

export type ChangeForm = 'set' | 'remove' | 'patch';

interface ChangeDialogProps {
  readonly form: ChangeForm;
  readonly onClose: () => void;
  readonly onChange: (change: BulkChange) => void;
}

const TITLES = {
  set: 'Set a field in the selected documents',
  remove: 'Remove a field from the selected documents',
  patch: 'Change the selected documents by JSON',
} as const;

const FIRST_TEXT = '{\n  \n}';

export function ChangeDialog({ form, onClose, onChange }: ChangeDialogProps) {
  const [path, setPath] = useState('');
  const [value, setValue] = useState('');
  const [patch, setPatch] = useState(FIRST_TEXT);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const submit = (event: Event) => {
    event.preventDefault();
    const change = parse(form, path.trim(), value, patch);
    if (typeof change === 'string') setProblem(change);
    else onChange(change);
  };
  return (
    <Dialog
      title={TITLES[form]}
      isWide={form === 'patch'}
      onClose={onClose}
      actions={
        <>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" form="bulk-change" class="primary">
            Review
          </button>
        </>
      }
    >
      <form id="bulk-change" class="form" onSubmit={submit}>
        {form === 'patch' ? (
          <PatchField text={patch} onInput={setPatch} />
        ) : (
          <Field label="Field" placeholder="year, or address.city" text={path} onInput={setPath} />
        )}
        {form === 'set' && (
          <Field
            label="Value, as JSON"
            placeholder='1815, "a text", true, null, [], {}'
            text={value}
            onInput={setValue}
          />
        )}
        {problem !== undefined && (
          <p class="field-error" role="alert">
            {problem}
          </p>
        )}
        <p class="muted">Nothing is written yet: the requests are shown first.</p>
      </form>
    </Dialog>
  );
}

function parse(form: ChangeForm, path: string, value: string, patch: string): BulkChange | string {
  if (form === 'set') return parseSet(path, value);
  return form === 'remove' ? parseRemove(path) : parsePatch(patch);
}

interface FieldProps {
  readonly label: string;
  readonly placeholder: string;
  readonly text: string;
  readonly onInput: (text: string) => void;
}

function Field({ label, placeholder, text, onInput }: FieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        value={text}
        placeholder={placeholder}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}

function PatchField({ text, onInput }: { readonly text: string; readonly onInput: (text: string) => void }) {
  return (
    <>
      <p>
        An object is merged into each document: its members replace those of the document, and <code>null</code> removes
        one. A list is a JSON Patch: <code>{'[{"op": "add", "path": "/tags/-", "value": "old"}]'}</code>.
      </p>
      <div class="field">
        <Editor label="Change" language="json" text={text} lines={8} onChange={onInput} />
      </div>
    </>
  );
}
