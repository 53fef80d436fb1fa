/** The view indexes of a database: their sizes, and how to make them smaller. */
import { ErrorNote } from '../components/error-note.tsx';
import { formatBytes } from '../components/format.ts';
import { useLoaded } from '../components/load.ts';
import { WriteButton } from '../components/write-button.tsx';
import { review } from '../review/review.tsx';
import { ask, pathOf, ServerError, withQuery } from '../server/client.ts';

interface IndexInfo {
  readonly name: string;
  readonly fileBytes: number | undefined;
  readonly dataBytes: number | undefined;
  readonly isCompacting: boolean;
}

interface IndexMembers {
  readonly disk_size?: number;
  readonly data_size?: number;
  readonly sizes?: { readonly file?: number; readonly active?: number };
  readonly compact_running?: boolean;
}

/** Design documents in the list, which says so if it is cut. */
const MAX_DESIGN_DOCUMENTS = 100;

export function Indexes({ database }: { readonly database: string }) {
  const { value, failure, reload } = useLoaded((signal) => listIndexes(database, signal), [database]);
  return (
    <section class="storage-part" aria-label="Indexes">
      <h2>Indexes of views</h2>
      <ErrorNote failure={failure} retry={reload} />
      {value?.length === 0 && (
        <p class="muted">This database has no design documents, so it has no indexes of views.</p>
      )}
      {value !== undefined && value.length > 0 && (
        <ul class="index-sizes">
          {value.map(({ name, fileBytes, dataBytes, isCompacting }) => (
            <li key={name}>
              <span class="index-name">
                {name} {isCompacting && <span class="tag">compacting</span>}
              </span>
              <span class="muted">{sizesText(fileBytes, dataBytes)}</span>
              <WriteButton
                adminOf={database}
                label={`Compact the index of ${name}`}
                onClick={() => compactIndex(database, name, reload)}
              >
                Compact
              </WriteButton>
            </li>
          ))}
        </ul>
      )}
      {value?.length === MAX_DESIGN_DOCUMENTS && (
        <p class="muted">The first {MAX_DESIGN_DOCUMENTS} design documents are shown.</p>
      )}
      <div class="tool-row">
        <WriteButton adminOf={database} onClick={() => cleanUp(database, reload)}>
          Clean up old indexes
        </WriteButton>
      </div>
    </section>
  );
}

export function sizesText(fileBytes: number | undefined, dataBytes: number | undefined): string {
  if (fileBytes === undefined) return 'size unknown';
  if (dataBytes === undefined) return formatBytes(fileBytes);
  return `${formatBytes(fileBytes)}, of which ${formatBytes(dataBytes)} are data`;
}

async function listIndexes(database: string, signal: AbortSignal): Promise<readonly IndexInfo[]> {
  const path = withQuery(pathOf(database, '_all_docs'), {
    startkey: '_design/',
    endkey: '_design0',
    limit: MAX_DESIGN_DOCUMENTS,
  });
  const { rows } = await ask<{ rows: readonly { readonly id: string }[] }>('GET', path, { signal, quiet: true });
  return Promise.all(rows.map(({ id }) => indexInfo(database, id.slice('_design/'.length), signal)));
}

async function indexInfo(database: string, name: string, signal: AbortSignal): Promise<IndexInfo> {
  const path = pathOf(database, `_design/${name}`, '_info');
  const { view_index } = await ask<{ view_index?: IndexMembers }>('GET', path, { signal, quiet: true }).catch(
    (failure: unknown): { view_index?: IndexMembers } => {
      // One design document may be broken; some servers say nothing about any.
      if (failure instanceof ServerError && failure.status !== 0) return {};
      throw failure;
    },
  );
  return {
    name,
    fileBytes: view_index?.sizes?.file ?? view_index?.disk_size,
    dataBytes: view_index?.sizes?.active ?? view_index?.data_size,
    isCompacting: view_index?.compact_running === true,
  };
}

function compactIndex(database: string, name: string, done: () => void): void {
  const path = pathOf(database, '_compact', name);
  review({
    title: `Compact the index of ${name}`,
    effects: ['The index is written again without gaps. It is read meanwhile as before, and no rows are lost.'],
    requests: [{ method: 'POST', path, json: '{}' }],
    action: 'Compact',
    adminOf: database,
    apply: async () => {
      await ask('POST', path, { json: {} });
      done();
    },
  });
}

function cleanUp(database: string, done: () => void): void {
  const path = pathOf(database, '_view_cleanup');
  review({
    title: 'Clean up old indexes',
    effects: ['Indexes that no design document has any more are deleted. Those in use stay.'],
    requests: [{ method: 'POST', path, json: '{}' }],
    action: 'Clean up',
    adminOf: database,
    apply: async () => {
      await ask('POST', path, { json: {} });
      done();
    },
  });
}
