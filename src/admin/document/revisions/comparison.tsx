import { ErrorNote } from '../../components/error-note.tsx';
import { useLoaded } from '../../components/load.ts';
import { SideBySide } from '../../editor/side-by-side.tsx';
import { readRevision } from '../../server/document.ts';

interface ComparisonProps {
  readonly database: string;
  readonly id: string;
  readonly left: string;
  readonly right: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly onTake: (text: string) => void;
}

/** Two revisions side by side. */
export function Comparison({ database, id, left, right, labels, onTake }: ComparisonProps) {
  const {
    value: texts,
    failure,
    reload,
  } = useLoaded(
    (signal) => Promise.all([left, right].map((rev) => readRevision(database, id, rev, signal))),
    [database, id, left, right],
  );
  const names = [left, right].map((rev) => labels.get(rev) ?? rev);
  const [leftText, rightText] = texts ?? [];
  const gone = texts === undefined ? [] : names.filter((_, at) => texts[at] === undefined);
  return (
    <section class="revision-comparison" aria-label={`${names[0]} beside ${names[1]}`}>
      <div class="tool-row">
        <h3>
          <code>{names[0]}</code> beside <code>{names[1]}</code>
        </h3>
        <span class="spring" />
        {leftText !== undefined && (
          <button type="button" onClick={() => onTake(leftText)}>
            Edit from {names[0]}
          </button>
        )}
      </div>
      <ErrorNote failure={failure} retry={reload} />
      {gone.length > 0 && (
        <p class="note">
          The body of {gone.join(' and of ')} is gone: it was dropped after it had been replaced, or never came here.
        </p>
      )}
      {leftText !== undefined && leftText === rightText && <p class="note">Both have the same content.</p>}
      {leftText !== undefined && rightText !== undefined && (
        <SideBySide
          before={{ label: `Revision ${left}`, text: leftText }}
          after={{ label: `Revision ${right}`, text: rightText }}
        />
      )}
    </section>
  );
}
