/** What the server counts: graphs of what was polled since the screen was first opened, and all figures. */
import { useMemo, useState } from 'preact/hooks';
import { Absent } from '../components/absent.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { formatCount } from '../components/format.ts';
import { Icon } from '../components/icon.tsx';
import { useLoaded } from '../components/load.ts';
import { Graph, type Series } from '../graph/graph.tsx';
import { ratesOf, type Sample, timesOf, useSamples, valuesOf } from '../graph/samples.ts';
import { readStatistics, type Statistic, statisticOf } from '../server/activity.ts';
import { isMissingEndpoint } from '../server/session.ts';

const EVERY_MS = 2_000;

/** Counters and values that graphs show. */
const NAMES = [
  'httpd/requests',
  'httpd/bulk_requests',
  'httpd/view_reads',
  'database_reads',
  'database_writes',
  'httpd/clients_requesting_changes',
  'open_databases',
] as const;

export function Statistics() {
  const { value, failure, reload } = useLoaded(readStatistics, [], EVERY_MS);
  const samples = useSamples('statistics', value, figuresOf);
  if (failure !== undefined && value === undefined) {
    if (isMissingEndpoint(failure)) return <Absent>This server has no statistics.</Absent>;
    return <ErrorNote failure={failure} retry={reload} />;
  }
  return (
    <>
      <ErrorNote failure={failure} retry={reload} />
      <p class="muted">Graphs begin when you open this screen. The page’s own requests count, too.</p>
      <Graphs samples={samples} />
      {value !== undefined && <Figures statistics={value} />}
    </>
  );
}

function figuresOf(statistics: readonly Statistic[]): Sample['figures'] {
  return Object.fromEntries(NAMES.map((name) => [name, statisticOf(statistics, name)?.value]));
}

function Graphs({ samples }: { readonly samples: readonly Sample[] }) {
  const times = useMemo(() => timesOf(samples), [samples]);
  const { requests, documents, open } = useMemo(() => seriesOf(samples), [samples]);
  return (
    <div class="graphs">
      <Graph label="Requests per second" times={times} series={requests} />
      <Graph label="Documents per second" times={times} series={documents} />
      <Graph label="Open at the time" times={times} series={open} />
    </div>
  );
}

function seriesOf(samples: readonly Sample[]): Readonly<Record<'requests' | 'documents' | 'open', readonly Series[]>> {
  return {
    requests: [
      { label: 'All', values: ratesOf(samples, 'httpd/requests') },
      { label: 'Views', values: ratesOf(samples, 'httpd/view_reads') },
      { label: 'Bulk writes', values: ratesOf(samples, 'httpd/bulk_requests') },
    ],
    documents: [
      { label: 'Reads', values: ratesOf(samples, 'database_reads') },
      { label: 'Writes', values: ratesOf(samples, 'database_writes') },
    ],
    open: [
      { label: 'Databases', values: valuesOf(samples, 'open_databases') },
      { label: 'Feeds of changes', values: valuesOf(samples, 'httpd/clients_requesting_changes') },
    ],
  };
}

function Figures({ statistics }: { readonly statistics: readonly Statistic[] }) {
  const [filter, setFilter] = useState('');
  const shown = statistics.filter(({ name, description }) => `${name} ${description}`.includes(filter));
  return (
    <section class="all-figures" aria-label="All figures">
      <header class="tool-row">
        <h2>Since the start</h2>
        <label class="search">
          <Icon name="search" />
          <input
            type="search"
            placeholder="Name contains"
            aria-label="Name contains"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        </label>
      </header>
      <table class="table figure-table">
        <thead>
          <tr>
            <th scope="col">Figure</th>
            <th scope="col" class="number">
              Sum, or now
            </th>
            <th scope="col" class="number">
              Mean
            </th>
            <th scope="col" class="number">
              Most
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ name, description, value, mean, max }) => (
            <tr key={name}>
              <th scope="row">
                {name}
                {description !== '' && <p class="muted">{description}</p>}
              </th>
              <td class="number">{formatFigure(value)}</td>
              <td class="number">{formatFigure(mean)}</td>
              <td class="number">{formatFigure(max)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length === 0 && <p class="muted">No figure is called like that.</p>}
    </section>
  );
}

function formatFigure(figure: number | undefined): string {
  if (figure === undefined) return '–';
  return Number.isInteger(figure) ? formatCount(figure) : formatCount(Number(figure.toFixed(2)));
}
