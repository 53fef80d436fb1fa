/** Bulk changes of this page, running and done: they go on while other screens are shown, and their results stay until they are dismissed. */
import { signal } from '@preact/signals';
import { stored } from '../../staging/staging-bar.tsx';
import { bulkServerOf } from './bulk-server.ts';
import type { BulkChange } from './change.ts';
import { Journal } from './journal.ts';
import { type BulkState, FRESH, runBulk, type Target } from './run.ts';

export interface Run {
  readonly number: number;
  readonly database: string;
  /** `Set year in 12 documents` */
  readonly title: string;
  readonly change: BulkChange;
  readonly targets: readonly Target[];
  readonly state: 'running' | 'done' | 'stopped' | 'failed';
  readonly progress: BulkState;
  readonly failure: unknown;
  readonly journal: Journal;
  /** The number of the run that undoes it; undefined if none was begun. */
  readonly undoneBy: number | undefined;
  readonly stop: () => void;
}

/** Newest first. */
export const runs = signal<readonly Run[]>([]);

let lastNumber = 0;

/** Returns its number. */
export function startRun({
  database,
  title,
  change,
  targets,
}: Pick<Run, 'database' | 'title' | 'change' | 'targets'>): number {
  lastNumber += 1;
  const run: Run = {
    ...{ number: lastNumber, database, title, change, targets, state: 'running', progress: FRESH, failure: undefined },
    ...{ journal: new Journal(), undoneBy: undefined, stop: () => undefined },
  };
  runs.value = [run, ...runs.value];
  void go(run);
  return run.number;
}

/** Goes on with a run that was stopped, or failed. */
export function goOn(run: Run): void {
  void go(run);
}

export function dismiss({ number }: Run): void {
  runs.value = runs.value.filter((one) => one.number !== number);
}

export function markUndone({ number }: Run, undoneBy: number): void {
  update(number, { undoneBy });
}

async function go(run: Run): Promise<void> {
  const controller = new AbortController();
  const tell = (news: Partial<Run>) => update(run.number, news);
  tell({ state: 'running', failure: undefined, stop: () => controller.abort() });
  addEventListener('beforeunload', warn);
  try {
    await runBulk({
      targets: run.targets,
      change: run.change,
      server: bulkServerOf(run.database),
      journal: run.journal,
      signal: controller.signal,
      from: run.progress,
      tell: (progress) => tell({ progress }),
    });
    tell({ state: 'done' });
  } catch (failure) {
    tell(controller.signal.aborted ? { state: 'stopped' } : { state: 'failed', failure });
  }
  if (!runs.value.some(({ state }) => state === 'running')) removeEventListener('beforeunload', warn);
  stored.dispatchEvent(new Event('stored'));
}

/** A page that is closed ends what it runs. */
function warn(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

function update(number: number, news: Partial<Run>): void {
  runs.value = runs.value.map((one) => (one.number === number ? { ...one, ...news } : one));
}
