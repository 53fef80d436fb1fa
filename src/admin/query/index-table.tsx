import { Absent } from '../components/absent.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { Icon } from '../components/icon.tsx';
import type { Loaded } from '../components/load.ts';
import { WriteButton } from '../components/write-button.tsx';
import { IndexLine } from '../indexes/index-line.tsx';
import { buildSelectorIndex } from '../indexes/index-state.ts';
import { isMissingEndpoint } from '../server/session.ts';
import { deleteIndex } from './make-index.ts';
import type { SelectorIndex } from './selector-indexes.ts';

interface IndexTableProps {
  readonly database: string;
  readonly indexes: Loaded<readonly SelectorIndex[]>;
  /** Another number: the states of the indexes are read again. */
  readonly readAt: number;
}

/** All indexes of selectors, with their size and state. */
export function IndexTable({ database, indexes: { value, failure, reload }, readAt }: IndexTableProps) {
  return (
    <section class="query-part" aria-label="Indexes">
      <h2>Indexes</h2>
      {isMissingEndpoint(failure) ? (
        <Absent>This server has no _index.</Absent>
      ) : (
        <ErrorNote failure={failure} retry={reload} />
      )}
      {value?.length === 0 && (
        <p class="muted">
          There is none yet: every query reads all documents, except by _id. Run a query, and the page offers the index
          that would help.
        </p>
      )}
      {value !== undefined && value.length > 0 && (
        <ul class="index-list">
          {value.map((index) => (
            <li key={`${index.ddoc} ${index.name}`}>
              <div class="index-head">
                <p>
                  <strong>{index.name}</strong>
                  <span>
                    by <code>{index.fields.join(', ')}</code>
                  </span>
                  <span class="muted">_design/{index.ddoc}</span>
                  {index.filter !== undefined && (
                    <span>
                      only <code>{index.filter}</code>
                    </span>
                  )}
                </p>
                <WriteButton
                  class="quiet"
                  adminOf={database}
                  label={`Delete the index ${index.name}`}
                  onClick={() => deleteIndex(database, index, reload)}
                >
                  <Icon name="trash" />
                </WriteButton>
              </div>
              <IndexLine
                database={database}
                name={index.ddoc}
                readAt={readAt}
                build={() => buildSelectorIndex(database, index.ddoc, index.name, index.fields)}
              />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
