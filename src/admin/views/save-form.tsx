import { useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { goTo } from '../page/router.ts';
import type { DraftSource } from './draft-run.ts';
import { saveDraft, splitName } from './save-draft.ts';

interface SaveFormProps {
  readonly database: string;
  readonly source: DraftSource;
  /** A stored view that the draft began with, `name/view`; or empty. */
  readonly of: string;
  readonly onSaved: () => void;
  readonly onDiscard: () => void;
}

/** Where the draft is saved: a design document and a view of it, whether they exist or not. */
export function SaveForm({ database, source, of, onSaved, onDiscard }: SaveFormProps) {
  const [firstName, firstView] = splitName(of);
  const [name, setName] = useState(firstName);
  const [view, setView] = useState(firstView);
  const [failure, setFailure] = useState<unknown>(undefined);
  const why = whyNot(name, view, source);
  const save = (event: Event) => {
    event.preventDefault();
    if (why !== undefined) return;
    setFailure(undefined);
    const target = { database, name: name.trim(), view: view.trim() };
    const done = () => {
      onSaved();
      goTo(['db', database, 'views', target.name, target.view]);
    };
    saveDraft(target, source, done).catch(setFailure);
  };
  return (
    <form class="save-form" onSubmit={save} aria-label="Save the draft">
      <NameField label="Design document" value={name} onChange={setName} />
      <NameField label="View" value={view} onChange={setView} />
      <WriteButton type="submit" adminOf={database} why={why}>
        Review and save
      </WriteButton>
      <button type="button" class="quiet" onClick={onDiscard}>
        Discard the draft
      </button>
      <ErrorNote failure={failure} />
    </form>
  );
}

interface NameFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

function NameField({ label, value, onChange }: NameFieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        value={value}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        onInput={(event) => onChange(event.currentTarget.value.replace(/^_design\//, ''))}
      />
    </label>
  );
}

function whyNot(name: string, view: string, { map }: DraftSource): string | undefined {
  if (map.trim() === '') return 'Write a map function first.';
  if (name.trim() === '') return 'Name a design document first.';
  return view.trim() === '' ? 'Name the view first.' : undefined;
}
