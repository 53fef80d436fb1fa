/** Resolves a conflict with any number of revisions in one step: a value for each field that differs, or one revision as a whole. */
import { useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { formatMany } from '../components/format.ts';
import { useLoaded } from '../components/load.ts';
import { WriteButton } from '../components/write-button.tsx';
import { review } from '../review/review.tsx';
import { ask, type JsonObject, pathOf } from '../server/client.ts';
import { comparedFields, type Leaf, mergedMembers, readLeaves } from '../server/leaves.ts';
import { stored } from '../staging/staging-bar.tsx';

interface ConflictPanelProps {
  readonly database: string;
  readonly id: string;
  /** The winner's revision. */
  readonly winner: string;
}

export function ConflictPanel({ database, id, winner }: ConflictPanelProps) {
  const {
    value: leaves,
    failure,
    reload,
  } = useLoaded((signal) => readLeaves(database, id, winner, signal), [database, id, winner]);
  if (leaves === undefined) return <ErrorNote failure={failure} retry={reload} />;
  if (leaves.length < 2) return null;
  return <Choices database={database} id={id} leaves={leaves} />;
}

function Choices({
  database,
  id,
  leaves,
}: {
  readonly database: string;
  readonly id: string;
  readonly leaves: readonly Leaf[];
}) {
  const { different, same } = comparedFields(leaves);
  const [choices, setChoices] = useState<ReadonlyMap<string, number>>(new Map());
  const choose = (names: readonly string[], number: number) =>
    setChoices(new Map([...choices, ...names.map((name) => [name, number] as const)]));
  return (
    <section class="conflict" aria-label="Conflict">
      <h3>
        This document is in conflict: it has {formatMany(leaves.length, 'revision')} that know nothing of each other
      </h3>
      <p>
        Choose a value for each field that differs, or a whole revision. All revisions stay as they are until you store
        the result.
        {same.length > 0 && ` The same in all of them: ${same.join(', ')}.`}
      </p>
      <div class="conflict-fields">
        <div class="conflict-row">
          {leaves.map((leaf, number) => (
            <button type="button" key={leaf.rev} onClick={() => choose(different, number)}>
              Take all of {leaf.rev.slice(0, 10)}
              {number === 0 && ' (the winner)'}
            </button>
          ))}
        </div>
        {different.map((name) => (
          <FieldChoice
            key={name}
            name={name}
            leaves={leaves}
            chosen={choices.get(name) ?? 0}
            onChoose={(number) => choose([name], number)}
          />
        ))}
      </div>
      {leaves.some(({ attachments }) => attachments.length > 0) && (
        <p class="muted">
          The attachments of the winner stay. Those that only other revisions have are lost: download them first.
        </p>
      )}
      <WriteButton
        class="primary"
        onClick={() => reviewMerge({ database, id, leaves, members: mergedMembers(leaves, choices) })}
      >
        Review the result
      </WriteButton>
    </section>
  );
}

interface FieldChoiceProps {
  readonly name: string;
  readonly leaves: readonly Leaf[];
  readonly chosen: number;
  readonly onChoose: (number: number) => void;
}

function FieldChoice({ name, leaves, chosen, onChoose }: FieldChoiceProps) {
  return (
    <fieldset class="conflict-field">
      <legend>{name}</legend>
      <div class="conflict-row">
        {leaves.map(({ rev, members }, number) => (
          <label key={rev}>
            <input
              type="radio"
              name={`conflict ${name}`}
              checked={number === chosen}
              onChange={() => onChoose(number)}
            />
            <code>{members[name] === undefined ? 'not there' : JSON.stringify(members[name])}</code>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface Merge {
  readonly database: string;
  readonly id: string;
  readonly leaves: readonly Leaf[];
  /** Of the result. */
  readonly members: JsonObject;
}

/** The winner is replaced first: only when that is stored are the other revisions deleted. */
function reviewMerge({ database, id, leaves, members }: Merge): void {
  const [winner, ...others] = leaves;
  if (winner === undefined) return;
  const isChanged = JSON.stringify(members) !== JSON.stringify(winner.members);
  const path = pathOf(database, '_bulk_docs');
  const kept = { docs: [{ _id: id, _rev: winner.rev, ...members }] };
  const deletions = { docs: others.map(({ rev }) => ({ _id: id, _rev: rev, _deleted: true })) };
  const bodies = isChanged ? [kept, deletions] : [deletions];
  review({
    title: `Resolve the conflict of ${id}`,
    effects: [
      isChanged ? 'The result becomes the next revision of the winner.' : 'The winner stays as it is.',
      `${formatMany(others.length, 'other revision is', 'other revisions are')} deleted, which replicates to peers. Their content is kept until compaction, not for ever.`,
    ],
    changes: leaves.map(({ rev, members: before }, number) => ({
      name: number === 0 ? `The winner ${rev}` : rev,
      before: JSON.stringify(before, null, 2),
      after: number === 0 ? JSON.stringify(members, null, 2) : undefined,
    })),
    requests: bodies.map((body) => ({ method: 'POST', path, json: JSON.stringify(body) })),
    action: 'Resolve',
    apply: async () => {
      for (const body of bodies) await storeAll(path, body);
      stored.dispatchEvent(new Event('stored'));
    },
  });
}

/** Fails if any of the documents is refused. */
async function storeAll(path: string, body: unknown): Promise<void> {
  type Row = { readonly error?: string; readonly reason?: string };
  const rows = await ask<readonly Row[]>('POST', path, { json: body });
  const refused = rows.find(({ error }) => error !== undefined);
  if (refused !== undefined)
    throw new Error(`Not stored: ${refused.reason ?? refused.error} Close this and read the document again.`);
}
