/** Resolves a conflict with any number of revisions in one step: a value for each field that differs, or one revision as a whole. */
import { useState } from 'preact/hooks';
import { ErrorNote } from '../../components/error-note.tsx';
import { formatBytes, formatMany } from '../../components/format.ts';
import { useLoaded } from '../../components/load.ts';
import { WriteButton } from '../../components/write-button.tsx';
import { type Leaf, readLeaves } from '../../server/leaves.ts';
import { revisionLabels } from '../revisions/labels.ts';
import { FieldChoices } from './field-choices.tsx';
import { type Choice, type Choices, comparedFields, mergedTree, ownProblem, type Version } from './merge.ts';
import { type KeptAttachment, reviewResolution } from './resolve.ts';
import './conflict.css';

interface ConflictPanelProps {
  readonly database: string;
  readonly id: string;
  /** The winner's revision. */
  readonly winner: string;
  /** Of the revisions in conflict with it. */
  readonly conflicts: readonly string[];
}

/** What was chosen. It stays when the revisions are read again. */
interface Work {
  readonly choices: Choices;
  readonly kept: readonly KeptAttachment[];
  /** The revisions when the user began to choose. */
  readonly revs: string | undefined;
}

export function ConflictPanel({ database, id, winner, conflicts }: ConflictPanelProps) {
  const {
    value: leaves,
    failure,
    reload,
  } = useLoaded((signal) => readLeaves(database, id, winner, signal), [database, id, winner, conflicts.join()]);
  const [work, setWork] = useState<Work>({ choices: new Map(), kept: [], revs: undefined });
  if (leaves === undefined) return <ErrorNote failure={failure} retry={reload} />;
  if (leaves.length < 2) return null;
  return <Panel database={database} id={id} leaves={leaves} work={work} onWork={setWork} />;
}

interface PanelProps {
  readonly database: string;
  readonly id: string;
  readonly leaves: readonly Leaf[];
  readonly work: Work;
  readonly onWork: (work: Work) => void;
}

function Panel({ database, id, leaves, work, onWork }: PanelProps) {
  const [failure, setFailure] = useState<unknown>(undefined);
  const versions = versionsOf(leaves);
  const { different, same } = comparedFields(versions);
  const { choices, kept } = work;
  const revs = leaves.map(({ rev }) => rev).join(' ');
  const isOlder = work.revs !== undefined && work.revs !== revs;
  const change = (next: Partial<Work>) => onWork({ ...work, revs: work.revs ?? revs, ...next });
  const problem = different.map((name) => ownProblem(choices.get(name))).find((one) => one !== undefined);
  const resolve = async () => {
    setFailure(undefined);
    try {
      const result = mergedTree(versions, choices);
      const there = kept.filter(({ rev }) => leaves.some((leaf) => leaf.rev === rev));
      await reviewResolution({ database, id, leaves, result, kept: there });
    } catch (error) {
      setFailure(error);
    }
  };
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
      {isOlder && (
        <p class="banner warn" role="status">
          The revisions have changed since you began to choose. What you chose is kept where it still exists.{' '}
          <button type="button" onClick={() => change({ revs })}>
            Continue
          </button>
        </p>
      )}
      <FieldChoices
        versions={versions}
        different={different}
        choices={choices}
        onChoose={(names: readonly string[], choice: Choice) =>
          change({ choices: new Map([...choices, ...names.map((name) => [name, choice] as const)]) })
        }
      />
      <AttachmentChoices leaves={leaves} versions={versions} kept={kept} onKeep={(next) => change({ kept: next })} />
      <ErrorNote failure={failure} />
      <WriteButton class="primary" why={problem} onClick={() => void resolve()}>
        Review and resolve
      </WriteButton>
    </section>
  );
}

function versionsOf(leaves: readonly Leaf[]): readonly Version[] {
  const labels = revisionLabels(leaves.map(({ rev }) => rev));
  return leaves.map(({ rev, tree }, number) => ({
    key: rev,
    label: number === 0 ? `${labels.get(rev)} (the winner)` : `${labels.get(rev)}`,
    tree,
  }));
}

interface AttachmentChoicesProps {
  readonly leaves: readonly Leaf[];
  readonly versions: readonly Version[];
  readonly kept: readonly KeptAttachment[];
  readonly onKeep: (kept: readonly KeptAttachment[]) => void;
}

/** Attachments of the revisions that will be deleted. Those of the winner stay. */
function AttachmentChoices({ leaves, versions, kept, onKeep }: AttachmentChoicesProps) {
  const all = leaves.flatMap(({ rev, attachments }, number) =>
    number === 0 ? [] : attachments.map((one) => ({ ...one, rev, label: versions[number]?.label ?? rev })),
  );
  if (all.length === 0) return null;
  const own = new Set(leaves[0]?.attachments.map(({ name }) => name));
  return (
    <fieldset class="conflict-field">
      <legend>Attachments</legend>
      <p class="muted">Those of the winner stay. Of the other revisions, keep:</p>
      {all.map(({ rev, name, bytes, label }) => {
        const isKept = kept.some((one) => one.rev === rev && one.name === name);
        // Only one of each name can be kept.
        const others = kept.filter((one) => one.name !== name);
        return (
          <label class="switch" key={`${rev} ${name}`}>
            <input
              type="checkbox"
              checked={isKept}
              onChange={() => onKeep(isKept ? others : [...others, { rev, name }])}
            />
            <span>
              {name} <span class="muted">{`${formatBytes(bytes)}, ${label}`}</span>
              {own.has(name) && <span class="muted">, in place of the winner’s</span>}
            </span>
          </label>
        );
      })}
    </fieldset>
  );
}
