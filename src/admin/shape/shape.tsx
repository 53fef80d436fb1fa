/** What a sample of documents really contains. */
import { useMemo, useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { formatCount, formatMany } from '../components/format.ts';
import { useLoaded } from '../components/load.ts';
import { hrefOf } from '../page/router.ts';
import type { DatabaseScreenProps } from '../page/screen-props.ts';
import { type Field, fieldsOf, type Outlier } from './fields.ts';
import { sampleOf } from './sample.ts';
import './shape.css';

const SIZES = [100, 500, 2_000] as const;

export function Shape({ database }: DatabaseScreenProps) {
  const [count, setCount] = useState<number>(SIZES[0]);
  const { value, failure, isLoading, reload } = useLoaded(
    (signal) => sampleOf(database, count, signal),
    [database, count],
  );
  const fields = useMemo(() => fieldsOf(value?.documents ?? []), [value]);
  const documents = value?.documents.length ?? 0;
  return (
    <section class="shape-screen">
      <div class="tool-row">
        <label class="inline-field">
          <span>Look at</span>
          <select value={`${count}`} onChange={(event) => setCount(Number(event.currentTarget.value))}>
            {SIZES.map((size) => (
              <option key={size} value={`${size}`}>
                up to {formatCount(size)} documents
              </option>
            ))}
          </select>
        </label>
        <button type="button" onClick={reload}>
          Reload
        </button>
        <span class="muted" aria-live="polite">
          {isLoading && value === undefined && 'Reading …'}
          {value !== undefined &&
            `${formatMany(documents, 'document')} of ${formatCount(value.total)}, spread evenly over the ids.`}
        </span>
      </div>
      <ErrorNote failure={failure} retry={reload} />
      {value !== undefined && documents === 0 && <p class="empty">This database has no documents yet.</p>}
      {fields.length > 0 && <FieldTable database={database} fields={fields} documents={documents} />}
    </section>
  );
}

interface FieldTableProps {
  readonly database: string;
  readonly fields: readonly Field[];
  readonly documents: number;
}

function FieldTable({ database, fields, documents }: FieldTableProps) {
  return (
    <table class="table shape-table">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">In documents</th>
          <th scope="col">Types</th>
          <th scope="col">Values</th>
          <th scope="col">Unusual</th>
        </tr>
      </thead>
      <tbody>
        {fields.map((field) => (
          <FieldRow key={field.path} database={database} field={field} documents={documents} />
        ))}
      </tbody>
    </table>
  );
}

interface FieldRowProps {
  readonly database: string;
  readonly field: Field;
  readonly documents: number;
}

function FieldRow({ database, field, documents }: FieldRowProps) {
  const { path, count, types, values, outliers } = field;
  return (
    <tr>
      <th scope="row">
        <code>{path}</code>
      </th>
      <td data-label="In documents">
        <span class="share">
          <meter min={0} max={documents} value={count} aria-label={`Documents with ${path}`} />
          <span>{percent(count, documents)}</span>
        </span>
      </td>
      <td data-label="Types">
        <span>
          {types.map((one, index) => (
            <span class="type-share" key={one.type}>
              {index > 0 && ', '}
              {one.type}
              {types.length > 1 && <span class="muted"> {percent(one.count, count)}</span>}
            </span>
          ))}
        </span>
      </td>
      <td data-label="Values">{values === '' ? <span class="muted">–</span> : values}</td>
      <td data-label="Unusual">
        {outliers.length === 0 ? (
          <span class="muted">–</span>
        ) : (
          <div>
            {outliers.map((outlier) => (
              <OutlierText key={outlier.what} database={database} outlier={outlier} />
            ))}
          </div>
        )}
      </td>
    </tr>
  );
}

function OutlierText({ database, outlier }: { readonly database: string; readonly outlier: Outlier }) {
  const { what, ids, count } = outlier;
  return (
    <p>
      <span class="tag warn">{what}</span>{' '}
      {ids.map((id, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <a href={hrefOf(['db', database, 'document', id])}>{id}</a>
        </span>
      ))}
      {count > ids.length && ` and ${formatCount(count - ids.length)} more`}
    </p>
  );
}

/** Never 100% of what is not all, nor 0% of what is there. */
function percent(count: number, of: number): string {
  if (count === of) return '100%';
  return `${Math.min(99, Math.max(1, Math.round((count * 100) / of)))}%`;
}
