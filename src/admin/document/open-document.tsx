import { useState } from 'preact/hooks';
import { WriteButton } from '../components/write-button.tsx';
import { Editor } from '../editor/editor.tsx';
import type { StoredDocument } from '../server/document.ts';
import { stage, stagedEdit, unstage } from '../staging/staged.ts';

interface OpenDocumentProps {
  readonly database: string;
  readonly id: string;
  /** Undefined: it is not stored yet. */
  readonly stored: StoredDocument | undefined;
}

/** The source of a document in an editor. What is typed is staged at once: see `staging/`. */
export function OpenDocument({ database, id, stored }: OpenDocumentProps) {
  const edit = stagedEdit(database, id);
  const [typed, setTyped] = useState(edit?.after ?? stored?.text ?? newText(id));
  const isForeign = edit !== undefined && stored !== undefined && edit.rev !== stored.rev;
  const isDeleted = edit !== undefined && edit.after === undefined;
  const change = (after: string | undefined) => stage({ database, id, rev: stored?.rev, before: stored?.text, after });
  return (
    <>
      {isForeign && (
        <p class="banner warn" role="status">
          Somebody else has stored a newer revision since you began to edit.{' '}
          <button type="button" onClick={() => change(typed)}>
            Edit on top of it
          </button>{' '}
          <button
            type="button"
            onClick={() => {
              unstage({ database, id });
              setTyped(stored.text);
            }}
          >
            Take the newer one
          </button>
        </p>
      )}
      {edit?.problem !== undefined && (
        <p class="field-error" role="status">
          {edit.problem}
        </p>
      )}
      {isDeleted ? (
        <p class="banner warn" role="status">
          This document will be deleted when you store your edits.{' '}
          <button type="button" onClick={() => unstage({ database, id })}>
            Keep it
          </button>
        </p>
      ) : (
        <Editor
          label={`Source of ${id}`}
          language="json"
          text={edit?.after ?? stored?.text ?? typed}
          lines={20}
          onChange={(text) => {
            setTyped(text);
            change(text);
          }}
        />
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

function newText(id: string): string {
  return JSON.stringify({ _id: id }, null, 2);
}
