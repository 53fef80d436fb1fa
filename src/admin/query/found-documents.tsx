import { useState } from 'preact/hooks';
import { hrefOf } from '../page/router.ts';
import type { Json, JsonObject } from '../server/client.ts';

interface FoundDocumentsProps {
  readonly database: string;
  readonly docs: readonly JsonObject[];
  /** Of the query; empty: all. */
  readonly fields: readonly string[];
}

/** Columns of the table if the query names no fields. */
const MAX_COLUMNS = 8;
/** Characters of a value in its cell. */
const MAX_CHARACTERS = 120;

/** What a query returned, as a table or as JSON. */
export function FoundDocuments({ database, docs, fields }: FoundDocumentsProps) {
  const [layout, setLayout] = useState<'Table' | 'JSON'>('Table');
  const columns = fields.length > 0 ? fields : columnsOf(docs);
  if (docs.length === 0) return <p class="muted">No document matches.</p>;
  return (
    <>
      <div class="tab-row" role="tablist" aria-label="Layout">
        {(['Table', 'JSON'] as const).map((one) => (
          <button
            type="button"
            role="tab"
            key={one}
            data-label={one}
            aria-selected={one === layout}
            onClick={() => setLayout(one)}
          >
            {one}
          </button>
        ))}
      </div>
      {layout === 'Table' ? (
        <DocumentTable database={database} docs={docs} columns={columns} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard
        <pre class="code found-json" tabIndex={0}>
          {docs.map((doc) => JSON.stringify(doc, null, 2)).join('\n')}
        </pre>
      )}
    </>
  );
}

function DocumentTable({
  database,
  docs,
  columns,
}: {
  readonly database: string;
  readonly docs: readonly JsonObject[];
  readonly columns: readonly string[];
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard
    <section class="wide-table" aria-label="Documents found" tabIndex={0}>
      <table class="table card-table">
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" key={column}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {docs.map((doc, index) => (
            <tr key={typeof doc._id === 'string' ? doc._id : index}>
              {columns.map((column) => (
                <td key={column} data-label={column}>
                  <Cell database={database} column={column} value={memberAt(doc, column)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Cell({
  database,
  column,
  value,
}: {
  readonly database: string;
  readonly column: string;
  readonly value: Json | undefined;
}) {
  if (value === undefined) return <span class="muted">–</span>;
  if (column === '_id') return <a href={hrefOf(['db', database, 'document', `${value}`])}>{`${value}`}</a>;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_CHARACTERS ? (
    <span title={text.slice(0, 2_000)}>{text.slice(0, MAX_CHARACTERS)}…</span>
  ) : (
    <span>{text}</span>
  );
}

/** The members of the documents, those that most of them have first; `_rev` is of little use in a table. */
function columnsOf(docs: readonly JsonObject[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const doc of docs) for (const name of Object.keys(doc)) counts.set(name, (counts.get(name) ?? 0) + 1);
  counts.delete('_rev');
  const names = [...counts].sort(([, one], [, other]) => other - one).map(([name]) => name);
  return ['_id', ...names.filter((name) => name !== '_id')].filter((name) => counts.has(name)).slice(0, MAX_COLUMNS);
}

/** Paths of fields: names joined by dots, `\.` for a dot inside a name. */
function memberAt(doc: JsonObject, path: string): Json | undefined {
  if (doc[path] !== undefined) return doc[path];
  let value: Json | undefined = doc;
  for (const part of path.split(/(?<!\\)\./)) {
    if (typeof value !== 'object' || value === null) return undefined;
    const name = part.replaceAll('\\.', '.');
    value = Array.isArray(value) ? value[Number(name)] : (value as JsonObject)[name];
  }
  return value;
}
