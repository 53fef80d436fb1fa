/** How much room a database takes, how it gets smaller, and how documents get out of it and into it. */
import { ErrorNote } from '../components/error-note.tsx';
import { formatBytes, formatCount } from '../components/format.ts';
import { useLoaded } from '../components/load.ts';
import { WriteButton } from '../components/write-button.tsx';
import type { DatabaseScreenProps } from '../page/screen-props.ts';
import { review } from '../review/review.tsx';
import { ask, pathOf } from '../server/client.ts';
import { type DatabaseInfo, infoOf } from '../server/databases.ts';
import { ExportPanel } from './export-panel.tsx';
import { ImportPanel } from './import-panel.tsx';
import { Indexes } from './indexes.tsx';
import './storage.css';

const EVERY_MS = 4_000;

export function Storage({ database }: DatabaseScreenProps) {
  const { value: info, failure, reload } = useLoaded((signal) => infoOf(database, signal), [database], EVERY_MS);
  return (
    <div class="storage">
      <section class="storage-part" aria-label="Size">
        <h2>Size</h2>
        <ErrorNote failure={failure} retry={reload} />
        {info !== undefined && <Sizes info={info} />}
        <div class="tool-row">
          <WriteButton
            adminOf={database}
            why={info?.isCompacting === true ? 'A compaction is running.' : undefined}
            onClick={() => compact(database, info, reload)}
          >
            Compact
          </WriteButton>
          {info?.isCompacting === true && <span role="status">A compaction is running.</span>}
        </div>
      </section>
      <Indexes database={database} />
      <ExportPanel database={database} />
      <ImportPanel database={database} onDone={reload} />
    </div>
  );
}

function Sizes({ info }: { readonly info: DatabaseInfo }) {
  const { documents, deleted, fileBytes, dataBytes } = info;
  const all = [
    ['Documents', documents, formatCount],
    ['Deleted', deleted, formatCount],
    ['File', fileBytes, formatBytes],
    ['Data in it', dataBytes, formatBytes],
    ['Compaction may free', freeBytes(fileBytes, dataBytes), formatBytes],
  ] as const;
  return (
    <dl class="sizes">
      {all.map(([label, value, format]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value === undefined ? '–' : format(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function freeBytes(fileBytes: number | undefined, dataBytes: number | undefined): number | undefined {
  return fileBytes === undefined || dataBytes === undefined ? undefined : Math.max(0, fileBytes - dataBytes);
}

function compact(database: string, info: DatabaseInfo | undefined, done: () => void): void {
  const path = pathOf(database, '_compact');
  const free = freeBytes(info?.fileBytes, info?.dataBytes);
  review({
    title: `Compact ${database}`,
    effects: [
      'The contents of replaced revisions are removed for good; their names stay. Current documents, conflicts and tombstones keep theirs.',
      `${free === undefined ? '' : `Up to ${formatBytes(free)} become free. `}The database is read and written meanwhile as before.`,
    ],
    requests: [{ method: 'POST', path, json: '{}' }],
    action: 'Compact',
    adminOf: database,
    apply: async () => {
      await ask('POST', path, { json: {} });
      done();
    },
  });
}
