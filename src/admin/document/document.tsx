/** One document: its source, and what else belongs to it. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Breadcrumb } from '../components/breadcrumb.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { useLoaded } from '../components/load.ts';
import { goTo, hrefOf } from '../page/router.ts';
import type { DatabaseScreenProps } from '../page/screen-props.ts';
import { isReachable } from '../server/client.ts';
import { newId, readDocument, type StoredDocument } from '../server/document.ts';
import { stagedEdit } from '../staging/staged.ts';
import { stored } from '../staging/staging-bar.tsx';
import { Attachments } from './attachments.tsx';
import { ConflictPanel } from './conflict/conflict-panel.tsx';
import { DeletedDocument } from './deleted-document.tsx';
import { OpenDocument } from './open-document.tsx';
import { ShownRevision } from './shown-revision.tsx';
import './document.css';

export function Document({ database, rest }: DatabaseScreenProps) {
  const [id] = rest;
  return id === undefined ? (
    <NewDocument database={database} />
  ) : (
    <ExistingDocument key={id} database={database} id={id} />
  );
}

/** Asks for an id, and then opens a document that is not stored yet. */
function NewDocument({ database }: { readonly database: string }) {
  const [id, setId] = useState('');
  const { value: made, failure, reload } = useLoaded(newId, []);
  const open = (event: Event) => {
    event.preventDefault();
    goTo(['db', database, 'document', id.trim() || (made ?? '')], { new: '' });
  };
  return (
    <form class="form narrow" onSubmit={open}>
      <h2>New document</h2>
      <ErrorNote failure={failure} retry={reload} />
      <label class="field">
        <span>Id</span>
        <input
          value={id}
          placeholder={made}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          onInput={(event) => setId(event.currentTarget.value)}
        />
      </label>
      <p class="muted">Leave it empty for an id that no other document has.</p>
      <button type="submit" class="primary" disabled={id.trim() === '' && made === undefined}>
        Continue
      </button>
    </form>
  );
}

function ExistingDocument({ database, id }: { readonly database: string; readonly id: string }) {
  const { value, failure, isLoading, reload } = useLoaded(
    (signal) => readDocument(database, id, signal),
    [database, id],
  );
  useRereading(reload);
  const found = value === undefined ? stagedBase(database, id) : value.found;
  if (value === undefined && found === undefined)
    return failure === undefined && isLoading ? null : <ErrorNote failure={failure} retry={reload} />;
  const isDeleted = value?.isDeleted === true;
  return (
    <section class="fill document-screen">
      <header class="tool-row">
        <Breadcrumb
          label="Where the document is"
          above={[{ label: 'All documents', href: hrefOf(['db', database]) }]}
        />
        <h2>{id}</h2>
        <ShownRevision rev={found?.rev} isDeleted={isDeleted} />
        <span class="spring" />
        <button type="button" onClick={reload}>
          Reload
        </button>
      </header>
      <ErrorNote failure={failure} retry={reload} />
      {found !== undefined && found.conflicts.length > 0 && (
        <ConflictPanel database={database} id={id} winner={found.rev} conflicts={found.conflicts} />
      )}
      {isDeleted && stagedEdit(database, id) === undefined ? (
        <DeletedDocument database={database} id={id} />
      ) : (
        <OpenDocument database={database} id={id} stored={found} />
      )}
      {found !== undefined && <Attachments database={database} stored={found} />}
    </section>
  );
}

/** Reads again when something was stored here, when the user comes back to the page, and when the server does. */
function useRereading(reload: () => void): void {
  const isThere = isReachable.value;
  const wasThere = useRef(isThere);
  useEffect(() => {
    const onVisible = () => {
      if (document.visibilityState === 'visible') reload();
    };
    stored.addEventListener('stored', reload);
    document.addEventListener('visibilitychange', onVisible);
    return () => {
      stored.removeEventListener('stored', reload);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [reload]);
  useEffect(() => {
    if (isThere && !wasThere.current) reload();
    wasThere.current = isThere;
  }, [isThere]);
}

/** What an edit was begun with: it can go on while the server does not respond. */
function stagedBase(database: string, id: string): StoredDocument | undefined {
  const edit = stagedEdit(database, id);
  if (edit?.before === undefined || edit.rev === undefined) return undefined;
  return { id, rev: edit.rev, text: edit.before, attachments: [], conflicts: [] };
}
