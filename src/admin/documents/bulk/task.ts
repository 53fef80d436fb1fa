/** What is being prepared for the selection of a database: which documents it is, an export. One at a time. */
import { signal } from '@preact/signals';

export interface Task {
  readonly database: string;
  readonly text: string;
  readonly stop: () => void;
}

export const task = signal<Task | undefined>(undefined);
/** Why the last one failed. */
export const taskFailure = signal<{ readonly database: string; readonly failure: unknown } | undefined>(undefined);

/** Runs the work, which says how far it is. A task that is running is stopped first. */
export async function runTask(
  database: string,
  work: (tell: (text: string) => void, abortSignal: AbortSignal) => Promise<void>,
): Promise<void> {
  task.value?.stop();
  const controller = new AbortController();
  const stop = () => {
    controller.abort();
    if (task.value?.stop === stop) task.value = undefined;
  };
  const tell = (text: string) => {
    if (!controller.signal.aborted) task.value = { database, text, stop };
  };
  taskFailure.value = undefined;
  tell('Reading …');
  try {
    await work(tell, controller.signal);
  } catch (failure) {
    if (!controller.signal.aborted) taskFailure.value = { database, failure };
  }
  stop();
}
