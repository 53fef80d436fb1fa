/** The document of a replication, as text. */
import { useState } from 'preact/hooks';
import { Breadcrumb } from '../components/breadcrumb.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { useLoaded } from '../components/load.ts';
import { WriteButton } from '../components/write-button.tsx';
import { Editor } from '../editor/editor.tsx';
import { hrefOf } from '../page/router.ts';
import type { JsonObject } from '../server/client.ts';
import { readReplicationDocument } from '../server/replication.ts';
import { membersToEdit, reviewRewrite } from './rewrite.ts';
import { hasSecrets, titleOf } from './secrets.ts';

export function EditReplication({ docId }: { readonly docId: string }) {
  const { value, failure, reload } = useLoaded(
    async (signal) => ({ found: await readReplicationDocument(docId, signal) }),
    [docId],
  );
  return (
    <section>
      <header class="screen-head">
        <Breadcrumb
          above={[
            { label: 'Replication', href: '#/replication' },
            { label: titleOf(value?.found) ?? docId, href: hrefOf(['replication', docId]) },
          ]}
        />
        <h1>Edit</h1>
        <span class="muted">document {docId}</span>
      </header>
      <ErrorNote failure={failure} retry={reload} />
      {value !== undefined &&
        (value.found === undefined ? (
          <p>There is no document {docId} in _replicator.</p>
        ) : (
          <OpenEditor docId={docId} found={value.found} />
        ))}
    </section>
  );
}

function OpenEditor({ docId, found }: { readonly docId: string; readonly found: JsonObject }) {
  const before = JSON.stringify(membersToEdit(found), null, 2);
  const [text, setText] = useState(before);
  const parsed = parse(text);
  const why = parsed.why ?? (text === before ? 'Nothing has changed.' : undefined);
  return (
    <>
      {hasSecrets(found) && <p class="banner warn">The text contains passwords.</p>}
      <Editor label={`Replication ${docId}`} language="json" text={before} lines={14} onChange={setText} />
      {parsed.why !== undefined && <p class="field-error">{parsed.why}</p>}
      <div class="tool-row">
        <WriteButton
          class="primary"
          why={why}
          onClick={() => {
            if (parsed.members !== undefined) reviewRewrite({ docId, found, members: parsed.members });
          }}
        >
          Review and store
        </WriteButton>
        <a href={hrefOf(['replication', docId])}>Leave it as it is</a>
      </div>
    </>
  );
}

type Parsed =
  | { readonly members: JsonObject; readonly why?: undefined }
  | { readonly why: string; readonly members?: undefined };

function parse(text: string): Parsed {
  try {
    const members = JSON.parse(text);
    const isObject = typeof members === 'object' && members !== null && !Array.isArray(members);
    return isObject ? { members } : { why: 'The document must be an object.' };
  } catch (error) {
    return { why: `The text is not JSON: ${error instanceof Error ? error.message : error}` };
  }
}
