/** The attachments of a stored document: looked at, added and removed. */
import { formatBytes } from '../components/format.ts';
import { Icon } from '../components/icon.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { review } from '../review/review.tsx';
import { base, exchange, parseResponse, pathOf, type ServerRequest } from '../server/client.ts';
import type { StoredDocument } from '../server/document.ts';
import { stored as storedEvents } from '../staging/staging-bar.tsx';

interface AttachmentsProps {
  readonly database: string;
  readonly stored: StoredDocument;
}

interface Attachment {
  readonly name: string;
  readonly type: string;
  readonly bytes: number;
}

export function Attachments({ database, stored }: AttachmentsProps) {
  const all = attachmentsOf(stored);
  const add = (files: FileList | null) => {
    if (files !== null && files.length > 0) reviewUpload(database, stored, [...files]);
  };
  return (
    <section
      class="attachments"
      aria-label="Attachments"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        add(event.dataTransfer?.files ?? null);
      }}
    >
      <h3>Attachments</h3>
      {all.length === 0 && <p class="muted">None. Drop files here, or choose some.</p>}
      <ul>
        {all.map((one) => (
          <Row key={one.name} database={database} stored={stored} attachment={one} />
        ))}
      </ul>
      <AddFiles onFiles={add} />
    </section>
  );
}

function AddFiles({ onFiles }: { readonly onFiles: (files: FileList | null) => void }) {
  return (
    <>
      <input
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={({ currentTarget }) => {
          onFiles(currentTarget.files);
          currentTarget.value = '';
        }}
      />
      <WriteButton
        onClick={() => {
          const input = document.querySelector('.attachments input[type=file]');
          if (input instanceof HTMLInputElement) input.click();
        }}
      >
        <Icon name="upload" /> Attach files
      </WriteButton>
    </>
  );
}

function Row({ database, stored, attachment }: AttachmentsProps & { readonly attachment: Attachment }) {
  const { name, type, bytes } = attachment;
  const path = attachmentPath(database, stored.id, name);
  return (
    <li>
      <a href={new URL(path, base).href} target="_blank" rel="noreferrer">
        {name}
      </a>
      <span class="muted">
        {type} · {formatBytes(bytes)}
      </span>
      {type.startsWith('image/') && type !== 'image/svg+xml' && bytes < PREVIEW_BYTES && (
        <img src={new URL(path, base).href} alt={`Preview of ${name}`} height={64} loading="lazy" />
      )}
      <WriteButton
        class="quiet"
        label={`Remove ${name}`}
        onClick={() => reviewRemoval(`${path}?rev=${stored.rev}`, name)}
      >
        <Icon name="trash" />
      </WriteButton>
    </li>
  );
}

const PREVIEW_BYTES = 5_000_000;

function reviewRemoval(path: string, name: string): void {
  const request: ServerRequest = { method: 'DELETE', path };
  review({
    title: `Remove ${name}`,
    effects: ['The document gets a new revision without the attachment, which replicates to peers.'],
    requests: [request],
    action: 'Remove',
    apply: async () => {
      parseResponse(await exchange(request), request);
      storedEvents.dispatchEvent(new Event('stored'));
    },
  });
}

function reviewUpload(database: string, { id, rev }: StoredDocument, files: readonly File[]): void {
  review({
    title: files.length === 1 ? `Attach ${files[0]?.name}` : `Attach ${files.length} files`,
    effects: [
      'Each file makes a new revision of the document, which replicates to peers. An attachment of the same name is replaced.',
      ...(files.length > 1 ? ['From the second request on, rev is the revision that the one before returned.'] : []),
    ],
    requests: files.map((file) => uploadRequest(database, id, rev, file)),
    action: 'Attach',
    apply: async () => {
      let latest = rev;
      try {
        for (const file of files) latest = await upload(uploadRequest(database, id, latest, file));
      } finally {
        storedEvents.dispatchEvent(new Event('stored'));
      }
    },
  });
}

function uploadRequest(database: string, id: string, rev: string, file: File): ServerRequest {
  const path = `${attachmentPath(database, id, file.name)}?rev=${rev}`;
  const headers = { 'content-type': file.type || 'application/octet-stream' };
  return { method: 'PUT', path, body: file, headers };
}

/** Returns the new revision. */
async function upload(request: ServerRequest): Promise<string> {
  return parseResponse<{ readonly rev: string }>(await exchange(request), request).rev;
}

function attachmentPath(database: string, id: string, name: string): string {
  return `${pathOf(database, id)}/${name.split('/').map(encodeURIComponent).join('/')}`;
}

function attachmentsOf({ body }: StoredDocument): readonly Attachment[] {
  const stubs = body['_attachments'];
  if (typeof stubs !== 'object' || stubs === null) return [];
  return Object.entries(stubs).map(([name, stub]) => {
    const members = new Map(typeof stub === 'object' && stub !== null ? Object.entries(stub) : []);
    const [type, length] = [members.get('content_type'), members.get('length')];
    return { name, type: `${type ?? ''}`, bytes: typeof length === 'number' ? length : 0 };
  });
}
