import { useState } from 'preact/hooks';
import { Breadcrumb } from '../components/breadcrumb.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { formatMany } from '../components/format.ts';
import { useLoaded } from '../components/load.ts';
import { IndexLine } from '../indexes/index-line.tsx';
import { buildViews } from '../indexes/index-state.ts';
import { hrefOf } from '../page/router.ts';
import { designDocument } from './design-documents.ts';
import { RowForm } from './row-form.tsx';
import { RowTable } from './row-table.tsx';
import { type Place, type RowQuery, viewRows } from './rows.ts';
import { joinName } from './save-draft.ts';

interface OpenViewProps {
  readonly database: string;
  /** Of the design document, without `_design/`. */
  readonly name: string;
  readonly view: string;
}

/** One view: its functions, the state of its index, and its rows as they are in the index now. */
export function OpenView({ database, name, view }: OpenViewProps) {
  const { value, failure, reload } = useLoaded(
    async (signal) => ({ design: await designDocument(database, name, signal) }),
    [database, name],
  );
  const definition = value?.design?.views.find((one) => one.name === view);
  return (
    <section class="views-screen">
      <header class="tool-row">
        <Breadcrumb
          label="Where the view is"
          above={[{ label: 'All views', href: hrefOf(['db', database, 'views']) }]}
        />
        <h2>
          {name}/{view}
        </h2>
        <span class="spring" />
        <a class="button" href={hrefOf(['db', database, 'views'], { draft: joinName(name, view) })}>
          Edit as a draft
        </a>
      </header>
      <ErrorNote failure={failure} retry={reload} />
      {value !== undefined && definition === undefined && <p class="empty">There is no such view.</p>}
      {definition !== undefined && (
        <>
          <details class="view-source">
            <summary>Its functions</summary>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard */}
            <pre class="code" tabIndex={0}>
              {definition.map}
              {definition.reduce !== undefined && `\n\n${definition.reduce}`}
            </pre>
          </details>
          <Rows database={database} name={name} view={view} hasReduce={definition.reduce !== undefined} />
        </>
      )}
    </section>
  );
}

function Rows({ database, name, view, hasReduce }: OpenViewProps & { readonly hasReduce: boolean }) {
  const [query, setQuery] = useState<RowQuery>({
    isReduced: false,
    group: 'key',
    isDescending: false,
    startkey: undefined,
    endkey: undefined,
  });
  // The places of the pages that come before, and of the present one.
  const [places, setPlaces] = useState<readonly Place[]>([{}]);
  const place = places.at(-1) ?? {};
  const { value, failure, isLoading, reload } = useLoaded(
    (signal) => viewRows(database, name, view, { query, place }, signal),
    [database, name, view, query, place],
  );
  return (
    <>
      <IndexLine
        database={database}
        name={name}
        build={() => buildViews(database, name, view)}
        rows={{ updateSeq: value?.updateSeq, reload }}
      />
      <RowForm
        hasReduce={hasReduce}
        onShow={(next) => {
          setPlaces([{}]);
          setQuery(next);
        }}
      />
      <ErrorNote failure={failure} retry={reload} />
      <div class="row-result" aria-live="polite" aria-busy={isLoading}>
        {value?.total !== undefined && <p class="muted">{formatMany(value.total, 'row')} in the view</p>}
        {value?.rows.length === 0 && <p class="muted">The index has no rows here.</p>}
      </div>
      {value !== undefined && value.rows.length > 0 && <RowTable database={database} rows={value.rows} />}
      <PageButtons places={places} next={value?.next} onPlaces={setPlaces} />
    </>
  );
}

interface PageButtonsProps {
  readonly places: readonly Place[];
  readonly next: Place | undefined;
  readonly onPlaces: (places: readonly Place[]) => void;
}

function PageButtons({ places, next, onPlaces }: PageButtonsProps) {
  return (
    <div class="tool-row">
      {places.length > 1 && (
        <>
          <button type="button" onClick={() => onPlaces(places.slice(0, -1))}>
            Previous page
          </button>
          <span class="muted">Page {places.length}</span>
        </>
      )}
      {next !== undefined && (
        <button type="button" onClick={() => onPlaces([...places, next])}>
          Next page
        </button>
      )}
    </div>
  );
}
