import { Absent } from '../components/absent.tsx';
import { formatCount, formatMany } from '../components/format.ts';
import { WriteButton } from '../components/write-button.tsx';
import { hrefOf } from '../page/router.ts';
import { server } from '../server/session.ts';
import type { RefusedDocument } from '../server/written-since.ts';

interface RefusedTableProps {
  /** The first of them. */
  readonly refused: readonly RefusedDocument[];
  readonly count: number;
  /** The source, if it is a database of this server. */
  readonly source: string | undefined;
  readonly retry: () => void;
}

/** Documents that could not be copied: which, why, and a retry. */
export function RefusedTable({ refused, count, source, retry }: RefusedTableProps) {
  const why =
    server.value?.isSettee === true
      ? undefined
      : 'This server has no way to retry refused documents: write them again at the source.';
  return (
    <section class="refused" aria-label="Refused documents">
      <header class="tool-row">
        <h2>{formatMany(count, 'refused document')}</h2>
        <span class="spring" />
        <WriteButton why={why} onClick={retry}>
          Review and retry
        </WriteButton>
      </header>
      <p class="muted">
        They are skipped, and everything else is copied. Mend the reason at the source or at the target, then retry.
      </p>
      {refused.length === 0 && <Absent>This server counts them, and does not say which they are.</Absent>}
      <table class="table card-table" hidden={refused.length === 0}>
        <thead>
          <tr>
            <th scope="col">Document</th>
            <th scope="col">Reason</th>
            <th scope="col">Revision</th>
          </tr>
        </thead>
        <tbody>
          {refused.map(({ id, rev, error, reason }) => (
            <tr key={`${id} ${rev}`}>
              <th scope="row">
                {source === undefined ? id : <a href={hrefOf(['db', source, 'document', id])}>{id}</a>}
              </th>
              <td data-label="Reason">
                <strong>{error}</strong> {reason}
              </td>
              <td data-label="Revision">
                <code>{rev}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {refused.length > 0 && count > refused.length && (
        <p class="muted">
          The server remembers the first {formatCount(refused.length)}. A retry looks for the others at the source.
        </p>
      )}
    </section>
  );
}
