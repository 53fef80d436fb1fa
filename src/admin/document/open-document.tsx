/** The content of a document as source, as a form, and its revisions. What is typed is staged at once: see `staging/`. */
import { useState } from 'preact/hooks';
import { Icon } from '../components/icon.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { Editor } from '../editor/editor.tsx';
import type { StoredDocument } from '../server/document.ts';
import { whyNoWrites } from '../server/session.ts';
import { isBrowser } from '../server/where.ts';
import { type StagedEdit, stage, stagedEdit, stagedEdits, unstage } from '../staging/staged.ts';
import { openReview } from '../staging/staging-bar.tsx';
import { NewerRevision } from './conflict/newer-revision.tsx';
import { FieldForm } from './form/field-form.tsx';
import { useKnownIds } from './known-ids.ts';
import { newText } from './new-text.ts';
import { Revisions } from './revisions/revisions.tsx';
import { Tabs } from './tabs.tsx';

interface OpenDocumentProps {
  readonly database: string;
  readonly id: string;
  /** Undefined: it is not stored yet, or deleted with an edit that is to bring it back. */
  readonly stored: Pick<StoredDocument, 'rev' | 'text' | 'attachments' | 'conflicts'> | undefined;
}

export function OpenDocument({ database, id, stored }: OpenDocumentProps) {
  const edit = stagedEdit(database, id);
  const [typed, setTyped] = useState(edit?.after ?? stored?.text ?? newText(id));
  const [view, setView] = useView();
  const isForeign = edit !== undefined && edit.rev !== stored?.rev;
  const isDeleted = edit !== undefined && edit.after === undefined;
  const text = edit?.after ?? stored?.text ?? typed;
  const knownIds = useKnownIds(database, id, text);
  /** Undefined: deletes it. An edit of a former revision stays one until the user has chosen. */
  const change = (after: string | undefined, problem?: string, isOnTop = !isForeign) => {
    if (after !== undefined) setTyped(after);
    const under = isOnTop ? { rev: stored?.rev, before: stored?.text } : { rev: edit?.rev, before: edit?.before };
    stage({ database, id, after, ...under }, problem);
  };
  const show = (next: View) => {
    // What the form holds against its fields is said by the source in its own words.
    if (edit?.after !== undefined && next === 'source') change(edit.after);
    setView(next);
  };
  const content = (
    <Tabs label="What is shown of the document" tabs={VIEWS} current={view} onChange={show}>
      {view === 'source' && <Source id={id} text={text} knownIds={knownIds} onChange={change} />}
      {view === 'form' && (
        <FieldForm
          database={database}
          id={id}
          text={text}
          attachments={stored?.attachments ?? []}
          knownIds={knownIds}
          onChange={change}
          onShowSource={() => show('source')}
        />
      )}
      {view === 'revisions' && (
        <Revisions
          database={database}
          id={id}
          leaves={[stored?.rev, ...(stored?.conflicts ?? [])].join()}
          onTake={(taken) => {
            change(taken);
            show('source');
          }}
        />
      )}
    </Tabs>
  );
  return (
    <>
      {isForeign && (
        <NewerRevision
          edit={edit}
          theirs={stored?.text}
          onKeep={(after) => change(after, undefined, true)}
          onTakeTheirs={() => {
            unstage({ database, id });
            setTyped(stored?.text ?? newText(id));
          }}
        />
      )}
      <Problems edit={edit} isForeign={isForeign} />
      {isDeleted ? <ToBeDeleted onKeep={() => unstage({ database, id })} /> : content}
      {(edit === undefined || stored !== undefined) && (
        <NothingEdited isNew={stored === undefined} stageAsIs={() => change(text)} />
      )}
      {stored !== undefined && !isDeleted && (
        <div class="tool-row">
          <WriteButton onClick={() => change(undefined)}>Delete the document</WriteButton>
          <span class="muted">It is deleted when you store your edits.</span>
        </div>
      )}
    </>
  );
}

const AS_IT_IS = 'Nothing is stored yet. A document may have no fields: it can be stored as it is.';
const EDIT_FIRST = 'Nothing is edited yet: edit the source or the form, then review the edit here, and store it.';

interface NothingEditedProps {
  /** The document is not stored yet: it can be, with its id alone. */
  readonly isNew: boolean;
  readonly stageAsIs: () => void;
}

/** How the document is stored, as long as nothing of it is edited. Where other documents are edited, the bar of edits has the button. */
function NothingEdited({ isNew, stageAsIs }: NothingEditedProps) {
  if (stagedEdits.value.length > 0 && !isNew) return null;
  const store = () => {
    stageAsIs();
    openReview();
  };
  return (
    <div class="tool-row">
      <WriteButton class="primary" why={isNew ? undefined : 'Nothing is edited yet.'} onClick={store}>
        Review and store
      </WriteButton>
      <span class="muted">{whyNoWrites.value ?? (isNew ? AS_IT_IS : EDIT_FIRST)}</span>
    </div>
  );
}

const VIEWS = [
  { name: 'source', label: 'Source' },
  { name: 'form', label: 'Form' },
  { name: 'revisions', label: 'Revisions' },
] as const;

type View = (typeof VIEWS)[number]['name'];

const VIEW_KEY = 'settee-utils/document-view';

/** Source or form, as chosen last. A telephone begins with the form. */
function useView(): readonly [View, (view: View) => void] {
  const [view, setView] = useState<View>(() => {
    const chosen = localStorage.getItem(VIEW_KEY);
    if (chosen === 'source' || chosen === 'form') return chosen;
    return matchMedia('(max-width: 760px)').matches ? 'form' : 'source';
  });
  const choose = (next: View) => {
    if (next !== 'revisions') localStorage.setItem(VIEW_KEY, next);
    setView(next);
  };
  return [view, choose];
}

interface SourceProps {
  readonly id: string;
  readonly text: string;
  readonly knownIds: ReadonlyMap<string, string>;
  readonly onChange: (text: string) => void;
}

function Source({ id, text, knownIds, onChange }: SourceProps) {
  return (
    <>
      <Editor
        label={`Source of ${id}`}
        language="json"
        text={text}
        lines={20}
        links={knownIds}
        isReadOnly={whyNoWrites.value !== undefined}
        onChange={(next) => onChange(next)}
      />
      {knownIds.size > 0 && (
        <p class="linked-ids">
          Documents named here:{' '}
          {[...knownIds].map(([one, href]) => (
            <a key={one} href={href}>
              {one}
            </a>
          ))}
        </p>
      )}
    </>
  );
}

/** Why the edit can't be stored, or was not. It stays until the edit is changed. */
function Problems({ edit, isForeign }: { readonly edit: StagedEdit | undefined; readonly isForeign: boolean }) {
  const { problem, refusal } = edit ?? {};
  return (
    <>
      {problem !== undefined && (
        <p class="field-error" role="status">
          {problem}
        </p>
      )}
      {refusal !== undefined && !(isForeign && refusal.error === 'conflict') && (
        <div class="error-note" role="alert">
          <Icon name="warning" />
          <div>
            <p>
              {isBrowser.value ? 'The database' : 'The server'} did not store this edit: {refusal.reason}
            </p>
            <p class="detail">
              {refusal.error} · {WAYS_OUT.get(refusal.error) ?? 'Change the document, and store it again.'} Your edit is
              kept.
            </p>
          </div>
        </div>
      )}
    </>
  );
}

const WAYS_OUT: ReadonlyMap<string, string> = new Map([
  ['conflict', 'Somebody else was faster: read the document again.'],
  ['forbidden', 'A function of a design document, or the rights, forbid it: change what it names, and store it again.'],
  ['unauthorized', 'Log in as a user who may do this, and store it again.'],
]);

function ToBeDeleted({ onKeep }: { readonly onKeep: () => void }) {
  return (
    <p class="banner warn" role="status">
      This document will be deleted when you store your edits.{' '}
      <button type="button" onClick={onKeep}>
        Keep it
      </button>
    </p>
  );
}
