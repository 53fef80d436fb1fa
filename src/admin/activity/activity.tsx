/** What the server is doing: tasks, log and statistics, each at an address of its own. */
import type { ComponentType } from 'preact';
import { NeedsAdmin } from '../components/needs-admin.tsx';
import { hrefOf, route } from '../page/router.ts';
import { isAdmin } from '../server/session.ts';
import { Log } from './log.tsx';
import { Statistics } from './statistics.tsx';
import { Tasks } from './tasks.tsx';
import './activity.css';
import { theServer } from '../server/where.ts';

interface Part {
  readonly name: string;
  readonly label: string;
  readonly Component: ComponentType;
}

const TASKS: Part = { name: 'tasks', label: 'Tasks', Component: Tasks };
const PARTS: readonly Part[] = [
  TASKS,
  { name: 'log', label: 'Log', Component: Log },
  { name: 'statistics', label: 'Statistics', Component: Statistics },
];

export function Activity() {
  const [, name] = route.value.segments;
  const { name: current, Component } = PARTS.find((part) => part.name === name) ?? TASKS;
  return (
    <section>
      <header class="screen-head">
        <h1>Activity</h1>
      </header>
      <nav class="tab-row" aria-label="Activity">
        {PARTS.map((part) => (
          <a
            key={part.name}
            data-label={part.label}
            href={hrefOf(part === TASKS ? ['activity'] : ['activity', part.name])}
            aria-current={part.name === current ? 'page' : undefined}
          >
            {part.label}
          </a>
        ))}
      </nav>
      {isAdmin.value ? <Component /> : <NeedsAdmin what={`the activity of ${theServer()}`} />}
    </section>
  );
}
