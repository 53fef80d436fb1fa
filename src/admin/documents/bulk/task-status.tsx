import { ErrorNote } from '../../components/error-note.tsx';
import { task, taskFailure } from './task.ts';

/** What is being prepared for a change or an export, or why that failed. */
export function TaskStatus({ database }: { readonly database: string }) {
  const running = task.value?.database === database ? task.value : undefined;
  const failed = taskFailure.value?.database === database ? taskFailure.value : undefined;
  return (
    <>
      {running !== undefined && (
        <div class="tool-row" role="status">
          <span class="muted">{running.text}</span>
          <button type="button" onClick={running.stop}>
            Stop
          </button>
        </div>
      )}
      <ErrorNote failure={failed?.failure} />
    </>
  );
}
