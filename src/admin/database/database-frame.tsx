import type { ComponentChildren } from 'preact';
import { Icon } from '../components/icon.tsx';
import { hrefOf } from '../page/router.ts';

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
  return (
    <div class="database-frame" data-screen={current}>
      <header class="screen-head">
        <nav aria-label="Path">
          <a href="#/">Databases</a> <Icon name="right" />
        </nav>
        <h1>{database}</h1>
      </header>
      <nav class="tab-row" aria-label={`Screens of ${database}`}>
        {TABS.map(([name, label]) => (
          <a
            key={name}
            href={hrefOf(['db', database, name])}
            aria-current={isWithin(current, name) ? 'page' : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      {children}
    </div>
  );
}

/** A document is one of the documents. */
function isWithin(current: string, tab: string): boolean {
  return current === tab || (current === 'document' && tab === 'documents');
}
