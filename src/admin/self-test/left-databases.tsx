import { useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { formatMany } from '../components/format.ts';
import type { Loaded } from '../components/load.ts';
import { WriteButton } from '../components/write-button.tsx';
import { review } from '../review/review.tsx';
import { pathOf } from '../server/client.ts';
import { drop } from './scratch.ts';

/** What earlier runs have left behind, and a way to delete it. */
export function LeftDatabases({
  left,
  isRunning,
}: {
  readonly left: Loaded<readonly string[]>;
  readonly isRunning: boolean;
}) {
  const [isOpen, setOpen] = useState(false);
  const { value: names = [], failure, reload } = left;
  if (names.length === 0) return failure === undefined ? null : <ErrorNote failure={failure} retry={reload} />;
  return (
    <section class="note left-databases" aria-label="Databases that are left">
      <p>
        <strong>
          {formatMany(names.length, 'database')} of earlier runs {names.length === 1 ? 'is' : 'are'} left.
        </strong>{' '}
        The tab was closed in the middle of a check, the server went away, or another browser runs the checks right now.
      </p>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Which</summary>
        <ul>
          {names.map((name) => (
            <li key={name}>
              <code>{name}</code>
            </li>
          ))}
        </ul>
      </details>
      <WriteButton
        needsAdmin
        why={isRunning ? 'Checks are running.' : undefined}
        onClick={() => deleteLeft(names, reload)}
      >
        Delete {names.length === 1 ? 'it' : 'them'}
      </WriteButton>
    </section>
  );
}

function deleteLeft(names: readonly string[], done: () => void): void {
  review({
    title: `Delete ${formatMany(names.length, 'database')} of checks`,
    effects: [
      'They contain what the checks have written, and nothing else. A run in another browser that uses one fails.',
    ],
    requests: names.map((name) => ({ method: 'DELETE', path: pathOf(name) })),
    action: 'Delete',
    needsAdmin: true,
    apply: async () => {
      for (const name of names) await drop(name);
      done();
    },
  });
}
