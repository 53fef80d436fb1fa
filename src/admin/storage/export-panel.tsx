import { useState } from 'preact/hooks';
import { saveFile } from '../components/save-file.ts';
import { type ExportOptions, exportDatabase } from './export.ts';
import { TransferStatus } from './transfer-status.tsx';
import { transferOf, transfers } from './transfers.ts';

const OPTIONS = [
  ['withAttachments', 'Attachments, as Base64'],
  ['withDesignDocuments', 'Design documents'],
  ['withRevisions', 'Revisions, for an exact copy'],
] as const;

export function ExportPanel({ database }: { readonly database: string }) {
  const [options, setOptions] = useState<ExportOptions>({
    withAttachments: false,
    withRevisions: false,
    withDesignDocuments: true,
  });
  const transfer = transferOf(database, 'export');
  const isRunning = transfer?.state === 'running';
  const begin = async () => {
    const name = `${database.replaceAll('/', '-')}.jsonl`;
    await exportDatabase(database, name, options);
    const result = transfers.value.get(`export ${database}`)?.result;
    if (result !== undefined) saveFile(result, name);
  };
  return (
    <section class="storage-part" aria-label="Export">
      <h2>Export</h2>
      <p class="muted">
        A file of JSON lines: one document a line, as it is now. Conflicts and deleted documents are left out.
      </p>
      <fieldset class="option-row">
        <legend class="hidden">What the file contains</legend>
        {OPTIONS.map(([name, label]) => (
          <label key={name} class="switch">
            <input
              type="checkbox"
              checked={options[name]}
              onChange={(event) => setOptions({ ...options, [name]: event.currentTarget.checked })}
            />
            {label}
          </label>
        ))}
      </fieldset>
      <div class="tool-row">
        <button type="button" disabled={isRunning} onClick={() => void begin()}>
          Export
        </button>
      </div>
      <TransferStatus transfer={transfer} />
    </section>
  );
}
