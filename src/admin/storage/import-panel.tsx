import { useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { formatBytes, formatCount, formatMany } from '../components/format.ts';
import { WriteButton } from '../components/write-button.tsx';
import { review } from '../review/review.tsx';
import { pathOf } from '../server/client.ts';
import { capital, theServer } from '../server/where.ts';
import { bulkBody, type ImportMode, type ImportOptions, importFile, toBatch } from './import.ts';
import { type FileLook, lookInto } from './read-file.ts';
import { TransferStatus } from './transfer-status.tsx';
import { transferOf } from './transfers.ts';

const MODES: readonly (readonly [ImportMode, string, string])[] = [
  ['new', 'Refuse ids that exist', 'Documents whose id exists already are refused, and stay as they are.'],
  [
    'replace',
    'Replace documents of the same id',
    'Documents whose id exists already get a new revision with the content of the file.',
  ],
  [
    'keep',
    'Keep the revisions of the file',
    'Revisions are stored as they are, as a replication does. Where they differ, conflicts arise.',
  ],
];

/** Documents of the file that the review shows. */
const SAMPLE = 2;

export function ImportPanel({ database, onDone }: { readonly database: string; readonly onDone: () => void }) {
  const [file, setFile] = useState<File | undefined>(undefined);
  const [options, setOptions] = useState<ImportOptions>({ mode: 'new', idMember: '' });
  const [failure, setFailure] = useState<unknown>(undefined);
  const transfer = transferOf(database, 'import');
  const why = whyNot(file, transfer?.state === 'running');
  const show = () => {
    setFailure(undefined);
    if (file !== undefined) reviewImport(database, file, options, onDone).catch(setFailure);
  };
  return (
    <section class="storage-part" aria-label="Import">
      <h2>Import</h2>
      <p class="muted">
        A file of JSON lines, one document a line; or a JSON list of documents, <code>{'{"docs": […]}'}</code>, or what{' '}
        <code>_all_docs</code> returns with documents.
      </p>
      <label class="field">
        <span>File</span>
        <input
          type="file"
          accept=".jsonl,.ndjson,.json,.txt"
          onChange={(event) => setFile(event.currentTarget.files?.[0] ?? undefined)}
        />
      </label>
      <label class="field">
        <span>Documents that exist</span>
        <select
          value={options.mode}
          onChange={(event) => setOptions({ ...options, mode: modeOf(event.currentTarget.value) })}
        >
          {MODES.map(([mode, label]) => (
            <option key={mode} value={mode}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>Member that becomes the id, where there is no _id</span>
        <input
          value={options.idMember}
          placeholder={`${capital(theServer())} makes ids`}
          autocapitalize="none"
          spellcheck={false}
          onInput={(event) => setOptions({ ...options, idMember: event.currentTarget.value.trim() })}
        />
      </label>
      <ErrorNote failure={failure} />
      <div class="tool-row">
        <WriteButton class="primary" why={why} onClick={show}>
          Review and import
        </WriteButton>
      </div>
      <TransferStatus transfer={transfer} />
    </section>
  );
}

function whyNot(file: File | undefined, isRunning: boolean): string | undefined {
  if (isRunning) return 'An import is running.';
  return file === undefined ? 'Choose a file.' : undefined;
}

function modeOf(value: string): ImportMode {
  return MODES.find(([mode]) => mode === value)?.[0] ?? 'new';
}

async function reviewImport(database: string, file: File, options: ImportOptions, onDone: () => void): Promise<void> {
  const look = await lookInto(file, SAMPLE);
  if (look.first.length === 0) throw new Error(`${file.name} has no documents.`);
  const { batch } = toBatch(look.first, options);
  const [, , effect = ''] = MODES.find(([mode]) => mode === options.mode) ?? [];
  review({
    title: `Import ${file.name}`,
    effects: [
      `${howMany(look)} of the file (${formatBytes(file.size)}) ${look.documents === 1 ? 'is' : 'are'} written to ${database}, in requests of at most 500 documents. The request below shows the first ${batch.docs.length === 1 ? 'one' : batch.docs.length}.`,
      ...(look.others === 0
        ? []
        : [
            `${formatMany(look.others, 'line is', 'lines are')} no JSON object, and ${look.others === 1 ? 'is' : 'are'} refused.`,
          ]),
      effect,
      'What is written replicates to peers. Refused documents do not stop the import: they are listed with the reason.',
    ],
    requests: [
      {
        method: 'POST',
        path: pathOf(database, '_bulk_docs'),
        json: JSON.stringify(bulkBody(batch.docs, options.mode)),
      },
    ],
    action: 'Import',
    apply: async () => {
      void importFile(database, file, options, onDone);
    },
  });
}

/** `250 documents`; of long files an estimate. */
function howMany({ documents, share }: FileLook): string {
  if (share === 1) return formatMany(documents, 'document');
  const digits = 10 ** (`${Math.round(documents / share)}`.length - 2);
  return `About ${formatCount(Math.round(documents / share / digits) * digits)} documents`;
}
