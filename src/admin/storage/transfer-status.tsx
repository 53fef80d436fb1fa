import { ErrorNote } from '../components/error-note.tsx';
import { formatBytes, formatCount, formatMany } from '../components/format.ts';
import { saveFile } from '../components/save-file.ts';
import { forgetTransfer, type RefusedLine, type Transfer } from './transfers.ts';

const SHOWN = 100;

/** How far an export or an import is, and what became of it. */
export function TransferStatus({ transfer }: { readonly transfer: Transfer | undefined }) {
  if (transfer === undefined) return null;
  const { kind, database, fileName, state, share, failure, refused, refusedCount, cancel } = transfer;
  return (
    <div class="transfer" role="status">
      <p>
        {textOf(transfer)}
        {refusedCount > 0 && <strong class="bad-text"> {formatMany(refusedCount, 'line')} refused.</strong>}
      </p>
      {state === 'running' && (
        <div class="tool-row">
          <progress aria-label={`${kind} of ${fileName}`} max={1} value={share} />
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        </div>
      )}
      <ErrorNote failure={failure} />
      {refused.length > 0 && <RefusedLines refused={refused} total={refusedCount} fileName={fileName} />}
      {state !== 'running' && (
        <button type="button" class="quiet" onClick={() => forgetTransfer(database, kind)}>
          Dismiss
        </button>
      )}
    </div>
  );
}

function textOf({ kind, state, done, bytes, fileName, share }: Transfer): string {
  const documents = formatMany(done, 'document');
  const percent = share === undefined || state !== 'running' ? '' : ` (${Math.floor(share * 100)} %)`;
  const what =
    kind === 'export' ? `${documents} in ${fileName}, ${formatBytes(bytes)}` : `${documents} stored from ${fileName}`;
  if (state === 'running') return `${what}${percent} …`;
  if (state === 'done') return `${what}.`;
  return `${what}. Then it was ${state === 'cancelled' ? 'cancelled' : 'broken off'}: what is stored stays.`;
}

function RefusedLines({
  refused,
  total,
  fileName,
}: {
  readonly refused: readonly RefusedLine[];
  readonly total: number;
  readonly fileName: string;
}) {
  const save = () => saveFile(new Blob(refused.map(({ text }) => `${text}\n`)), `refused-${fileName}`);
  return (
    <details open>
      <summary>Refused lines</summary>
      <ul class="refused-lines">
        {refused
          .slice(0, SHOWN)
          .toSorted((one, other) => one.line - other.line)
          .map(({ line, id, reason, text }) => (
            <li key={`${line} ${id}`}>
              <span>
                Line {formatCount(line)}
                {id !== '' && (
                  <>
                    {' '}
                    <code>{id}</code>
                  </>
                )}
              </span>
              <span class="bad-text">{reason}</span>
              <code class="muted">{text.slice(0, 120)}</code>
            </li>
          ))}
      </ul>
      {total > SHOWN && (
        <p class="muted">
          The first {SHOWN} of {formatCount(total)} are shown.
        </p>
      )}
      <button type="button" onClick={save}>
        {total > refused.length
          ? `Save the first ${formatCount(refused.length)} refused lines`
          : 'Save the refused lines'}
      </button>
    </details>
  );
}
