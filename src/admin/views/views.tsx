/** Views: the list of them, the rows of one, and drafts. */
import { useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { Icon } from '../components/icon.tsx';
import { useLoaded } from '../components/load.ts';
import { IndexLine } from '../indexes/index-line.tsx';
import { buildViews } from '../indexes/index-state.ts';
import { hrefOf, route } from '../page/router.ts';
import type { DatabaseScreenProps } from '../page/screen-props.ts';
import { type DesignDocument, designDocuments, PER_PAGE } from './design-documents.ts';
import { Draft } from './draft.tsx';
import { OpenView } from './open-view.tsx';
import './views.css';

export function Views({ database, rest }: DatabaseScreenProps) {
  const [name, view] = rest;
  const draft = route.value.query.get('draft');
  if (draft !== null) return <Draft key={draft} database={database} of={draft} />;
  if (name !== undefined && view !== undefined)
    return <OpenView key={`${name}/${view}`} database={database} name={name} view={view} />;
  return <ViewList database={database} />;
}

function ViewList({ database }: { readonly database: string }) {
  const [skip, setSkip] = useState(0);
  const { value, failure, reload } = useLoaded((signal) => designDocuments(database, skip, signal), [database, skip]);
  return (
    <section class="views-screen">
      <header class="tool-row">
        <h2>Design documents</h2>
        <span class="spring" />
        <a class="button" href={hrefOf(['db', database, 'views'], { draft: '' })}>
          <Icon name="plus" /> Draft a view
        </a>
      </header>
      <ErrorNote failure={failure} retry={reload} />
      {value?.length === 0 && (
        <p class="empty">
          There is no design document yet. Draft a view: it runs on some documents before anything is stored.
        </p>
      )}
      <ul class="design-list">
        {value?.slice(0, PER_PAGE).map((design) => (
          <DesignItem key={design.name} database={database} design={design} />
        ))}
      </ul>
      <div class="tool-row">
        {skip > 0 && (
          <button type="button" onClick={() => setSkip(Math.max(0, skip - PER_PAGE))}>
            Previous page
          </button>
        )}
        {(value?.length ?? 0) > PER_PAGE && (
          <button type="button" onClick={() => setSkip(skip + PER_PAGE)}>
            Next page
          </button>
        )}
      </div>
    </section>
  );
}

function DesignItem({ database, design }: { readonly database: string; readonly design: DesignDocument }) {
  const { name, language, views } = design;
  const [first] = views;
  const isSelectors = language === 'query';
  return (
    <li>
      <div class="tool-row">
        <h3>
          <a href={hrefOf(['db', database, 'document', `_design/${name}`])}>_design/{name}</a>
        </h3>
        {language !== 'javascript' && <span class="tag">{isSelectors ? 'indexes of selectors' : language}</span>}
      </div>
      {views.length === 0 && <p class="muted">It has no views.</p>}
      {isSelectors ? (
        <p>
          {views.map((view) => view.name).join(', ')}: see <a href={hrefOf(['db', database, 'query'])}>Query</a>.
        </p>
      ) : (
        <ul class="view-names">
          {views.map((view) => (
            <li key={view.name}>
              <a href={hrefOf(['db', database, 'views', name, view.name])}>{view.name}</a>
              {view.reduce !== undefined && (
                <span class="tag">{view.reduce.startsWith('_') ? view.reduce : 'reduce'}</span>
              )}
            </li>
          ))}
        </ul>
      )}
      {first !== undefined && !isSelectors && (
        <IndexLine database={database} name={name} build={() => buildViews(database, name, first.name)} />
      )}
    </li>
  );
}
