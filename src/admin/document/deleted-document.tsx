/** A deleted document: its revisions, and the way back. */
import { ErrorNote } from '../components/error-note.tsx';
import { useLoaded } from '../components/load.ts';
import { WriteButton } from '../components/write-button.tsx';
import { hrefOf } from '../page/router.ts';
import { readRevision } from '../server/document.ts';
import { readRevisionTree } from '../server/revision-tree.ts';
import { stage } from '../staging/staged.ts';
import { newText } from './new-text.ts';
import { Revisions } from './revisions/revisions.tsx';

interface DeletedDocumentProps {
  readonly database: string;
  readonly id: string;
}

/** What is brought back is an edit that is not stored yet. */
export function DeletedDocument({ database, id }: DeletedDocumentProps) {
  const { value, failure, reload } = useLoaded((signal) => readDeletion(database, id, signal), [database, id]);
  const edit = (after: string) => stage({ database, id, after, before: undefined, rev: undefined });
  const { former } = value ?? {};
  return (
    <>
      <ErrorNote failure={failure} retry={reload} />
      {value !== undefined && (
        <div class="note">
          <p>
            <strong>
              Deleted (revision <code>{value.rev}</code>).
            </strong>{' '}
            {former === undefined
              ? 'The content that it had is gone.'
              : 'The content that it had last is still here, but may be dropped at any time.'}
          </p>
          <div class="tool-row">
            <WriteButton onClick={() => edit(former ?? newText(id))}>
              {former === undefined ? 'Write it again' : 'Bring it back'}
            </WriteButton>
            <a href={hrefOf(['db', database])}>To the list of all documents</a>
          </div>
        </div>
      )}
      <Revisions database={database} id={id} leaves={value?.rev ?? ''} onTake={edit} />
    </>
  );
}

interface Deletion {
  /** Of the deletion. */
  readonly rev: string;
  /** The text that was deleted; undefined if its body is gone. */
  readonly former: string | undefined;
}

async function readDeletion(database: string, id: string, signal: AbortSignal): Promise<Deletion> {
  const { branches } = await readRevisionTree(database, id, signal);
  const [rev = '', former] = branches[0]?.revs ?? [];
  return { rev, former: former === undefined ? undefined : await readRevision(database, id, former, signal) };
}
