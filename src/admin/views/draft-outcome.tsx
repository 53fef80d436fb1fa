import { formatCount, formatMany } from '../components/format.ts';
import { hrefOf } from '../page/router.ts';
import type { DraftProblem, DraftResult } from './draft-run.ts';
import { RowTable } from './row-table.tsx';

/** What a draft did: mistakes with their lines, rows, reductions. */
export function DraftOutcome({ database, result }: { readonly database: string; readonly result: DraftResult }) {
  const { documents, rows, rowCount, reduced, problems } = result;
  return (
    <>
      {problems.length > 0 && (
        <ul class="draft-problems">
          {problems.map((problem) => (
            <li key={`${problem.part} ${problem.line} ${problem.message}`}>
              <ProblemText database={database} problem={problem} />
            </li>
          ))}
        </ul>
      )}
      <p>
        {formatMany(rowCount, 'row')} from {formatMany(documents, 'document')}
        {rowCount > rows.length && `, the first ${formatCount(rows.length)} are shown`}.
      </p>
      {reduced !== undefined && (
        <>
          <h3>Reduced, by key</h3>
          <RowTable database={database} rows={reduced} />
        </>
      )}
      {rows.length > 0 && (
        <>
          <h3>Rows</h3>
          <RowTable database={database} rows={rows} />
        </>
      )}
    </>
  );
}

function ProblemText({ database, problem }: { readonly database: string; readonly problem: DraftProblem }) {
  const { part, message, line, ids } = problem;
  const [first] = ids;
  return (
    <>
      <strong>
        {part === 'map' ? 'Map' : 'Reduce'}
        {line !== undefined && `, line ${line}`}:
      </strong>{' '}
      {message}
      {first !== undefined && (
        <>
          {' '}
          <span class="muted">
            In {formatMany(ids.length, 'document')}, first{' '}
            <a href={hrefOf(['db', database, 'document', first])}>{first}</a>. A document on which the map fails has no
            rows.
          </span>
        </>
      )}
    </>
  );
}
