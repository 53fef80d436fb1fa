import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Breadcrumb } from '../components/breadcrumb.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { useLoaded } from '../components/load.ts';
import { hrefOf } from '../page/router.ts';
import { ServerError } from '../server/client.ts';
import { infoOf } from '../server/databases.ts';
import { loadRights } from '../server/rights.ts';
import { session } from '../server/session.ts';

const TABS = [
  ['documents', 'Documents'],
  ['query', 'Query'],
  ['views', 'Views'],
  ['shape', 'Shape'],
  ['changes', 'Changes'],
  ['security', 'Security'],
  ['storage', 'Storage'],
] as const;

interface DatabaseFrameProps {
  readonly database: string;
  /** The name of the screen. */
  readonly current: string;
  readonly children: ComponentChildren;
}

/** What all screens of a database have: its name, and the way to the others. */
export function DatabaseFrame({ database, current, children }: DatabaseFrameProps) {
  const { failure, reload } = useLoaded((signal) => infoOf(database, signal), [database]);
  useEffect(() => void loadRights(database), [database, session.value.name]);
  const tabs = useRef<HTMLElement>(null);
  // A telephone has no room for all of them.
  useEffect(() => {
    tabs.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [current]);
  const refused = failure instanceof ServerError && [401, 403, 404].includes(failure.status) ? failure : undefined;
  return (
    <div class="database-frame" data-screen={current}>
      <header class="screen-head">
        <Breadcrumb above={[{ label: 'Databases', href: '#/' }]} />
        <h1>{database}</h1>
      </header>
      <nav ref={tabs} class="tab-row" aria-label={`Screens of ${database}`}>
        {TABS.map(([name, label]) => (
          <a
            key={name}
            data-label={label}
            href={hrefOf(['db', database, name])}
            aria-current={isWithin(current, name) ? 'page' : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      {refused === undefined ? children : <NoDatabase database={database} failure={refused} retry={reload} />}
    </div>
  );
}

interface NoDatabaseProps {
  readonly database: string;
  readonly failure: ServerError;
  readonly retry: () => void;
}

/** Shown instead of the screens of a database that does not exist, or that the user may not read. */
function NoDatabase({ database, failure, retry }: NoDatabaseProps) {
  if (failure.status !== 404) return <ErrorNote failure={failure} retry={retry} />;
  return (
    <div class="empty">
      <p>
        This server has no database <strong>{database}</strong>: it was deleted, or never created.
      </p>
      <div class="tool-row">
        <a class="button" href="#/">
          All databases
        </a>
        <button type="button" onClick={retry}>
          Reload
        </button>
      </div>
    </div>
  );
}

/** A document is one of the documents. */
function isWithin(current: string, tab: string): boolean {
  return current === tab || (current === 'document' && tab === 'documents');
}
