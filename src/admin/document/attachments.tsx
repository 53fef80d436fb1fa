/** The attachments of a stored document: looked at, added, replaced and removed. */
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Dialog } from '../components/dialog.tsx';
import { formatBytes } from '../components/format.ts';
import { Icon } from '../components/icon.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { review } from '../review/review.tsx';
import { base, exchange, parseResponse, type ServerRequest } from '../server/client.ts';
import { type Attachment, attachmentPath, type StoredDocument } from '../server/document.ts';
import { stored as storedEvents } from '../staging/staging-bar.tsx';

interface AttachmentsProps {
  readonly database: string;
  readonly stored: StoredDocument;
}

export function Attachments({ database, stored }: AttachmentsProps) {
  const [isOver, setOver] = useState(false);
  const add = (files: readonly File[]) => {
    if (files.length > 0)
      reviewUpload(
        database,
        stored,
        files.map((file) => ({ file, name: file.name })),
      );
  };
  return (
    <section
      class={isOver ? 'attachments over' : 'attachments'}
      aria-label="Attachments"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        add([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <h3>Attachments</h3>
      {stored.attachments.length === 0 && <p class="muted">None. Drop files here, or choose some.</p>}
      <ul>
        {stored.attachments.map((one) => (
          <Row key={one.name} database={database} stored={stored} attachment={one} />
        ))}
      </ul>
      <FileButton label="Files to attach" isMultiple onFiles={add}>
        <Icon name="upload" /> Attach files
      </FileButton>
    </section>
  );
}

interface FileButtonProps {
  readonly label: string;
  readonly isMultiple?: boolean;
  /** The name of the button, if it is not its text. */
  readonly name?: string;
  readonly class?: string;
  readonly onFiles: (files: readonly File[]) => void;
  readonly children: ComponentChildren;
}

/** A button that lets the user choose files. */
function FileButton({ label, isMultiple = false, name, class: look, onFiles, children }: FileButtonProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple={isMultiple}
        hidden
        aria-label={label}
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
      <WriteButton
        {...(look !== undefined && { class: look })}
        {...(name !== undefined && { label: name })}
        onClick={() => input.current?.click()}
      >
        {children}
      </WriteButton>
    </>
  );
}

function Row({ database, stored, attachment }: AttachmentsProps & { readonly attachment: Attachment }) {
  const { name, type, bytes } = attachment;
  const path = attachmentPath(database, stored.id, name);
  return (
    <li>
      <div class="tool-row">
        <a href={new URL(path, base).href} target="_blank" rel="noreferrer">
          {name}
        </a>
        <span class="muted">
          {type} · {formatBytes(bytes)}
        </span>
        <span class="spring" />
        <FileButton
          label={`File in place of ${name}`}
          name={`Replace ${name}`}
          class="quiet"
          onFiles={([file]) => {
            if (file !== undefined) reviewUpload(database, stored, [{ file, name }]);
          }}
        >
          Replace
        </FileButton>
        <WriteButton
          class="quiet"
          label={`Remove ${name}`}
          onClick={() => reviewRemoval(`${path}?rev=${stored.rev}`, name)}
        >
          <Icon name="trash" />
        </WriteButton>
      </div>
      {/* Another revision may have another content under the same address. */}
      <Preview attachment={attachment} href={`${new URL(path, base).href}?rev=${stored.rev}`} />
    </li>
  );
}

const PREVIEW_BYTES = 10_000_000;

function Preview({
  attachment: { name, type, bytes },
  href,
}: {
  readonly attachment: Attachment;
  readonly href: string;
}) {
  const [isOpen, setOpen] = useState(false);
  if (type.startsWith('audio/'))
    return (
      // biome-ignore lint/a11y/useMediaCaption: the attachment has none
      <audio controls preload="none" src={href} aria-label={name} />
    );
  if (type.startsWith('video/'))
    return (
      // biome-ignore lint/a11y/useMediaCaption: the attachment has none
      <video controls preload="none" src={href} aria-label={name} />
    );
  if (!type.startsWith('image/') || type === 'image/svg+xml' || bytes > PREVIEW_BYTES) return null;
  return (
    <>
      <button type="button" class="attachment-image" aria-label={`Enlarge ${name}`} onClick={() => setOpen(true)}>
        <img src={href} alt={`Preview of ${name}`} loading="lazy" />
      </button>
      {isOpen && (
        <Dialog title={name} isWide onClose={() => setOpen(false)}>
          <img class="attachment-full" src={href} alt={`Content of ${name}`} />
        </Dialog>
      )}
    </>
  );
}

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

interface Upload {
  readonly file: File;
  /** Of the attachment. */
  readonly name: string;
}

function reviewUpload(database: string, { id, rev }: StoredDocument, uploads: readonly Upload[]): void {
  review({
    title: uploads.length === 1 ? `Attach ${uploads[0]?.name}` : `Attach ${uploads.length} files`,
    effects: [
      'Each file makes a new revision of the document, which replicates to peers. An attachment of the same name is replaced.',
      ...(uploads.length > 1 ? ['From the second request on, rev is the revision that the one before returned.'] : []),
    ],
    requests: uploads.map((one) => uploadRequest(database, id, rev, one)),
    action: 'Attach',
    apply: async () => {
      let latest = rev;
      try {
        for (const one of uploads) latest = await upload(uploadRequest(database, id, latest, one));
      } finally {
        storedEvents.dispatchEvent(new Event('stored'));
      }
    },
  });
}

function uploadRequest(database: string, id: string, rev: string, { file, name }: Upload): ServerRequest {
  const path = `${attachmentPath(database, id, name)}?rev=${rev}`;
  const headers = { 'content-type': file.type || 'application/octet-stream' };
  return { method: 'PUT', path, body: file, headers };
}

/** Returns the new revision. */
async function upload(request: ServerRequest): Promise<string> {
  return parseResponse<{ readonly rev: string }>(await exchange(request), request).rev;
}
