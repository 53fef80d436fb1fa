import { hrefOf } from '../page/router.ts';
import type { Json } from '../server/client.ts';
import type { ViewRow } from './rows.ts';

/** Characters of a key or a value in its cell. */
const MAX_CHARACTERS = 200;

/** Rows of a view: keys, values, and the documents that emitted them. */
export function RowTable({ database, rows }: { readonly database: string; readonly rows: readonly ViewRow[] }) {
  const hasDocuments = rows.some(({ id }) => id !== undefined);
  return (
    <table class="table row-table">
      <thead>
        <tr>
          <th scope="col">Key</th>
          <th scope="col">Value</th>
          {hasDocuments && <th scope="col">Document</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, value, id }, index) => (
          <tr key={`${index} ${id}`}>
            <td data-label="Key">
              <JsonText value={key} />
            </td>
            <td data-label="Value">
              <JsonText value={value} />
            </td>
            {hasDocuments && (
              <td data-label="Document">
                {id !== undefined && <a href={hrefOf(['db', database, 'document', id])}>{id}</a>}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function JsonText({ value }: { readonly value: Json }) {
  const text = JSON.stringify(value);
  if (text.length <= MAX_CHARACTERS) return <code>{text}</code>;
  return <code title={text.slice(0, 2_000)}>{text.slice(0, MAX_CHARACTERS)}…</code>;
}
