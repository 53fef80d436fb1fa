/** Somebody else has stored the document since an edit of it was begun: what theirs is, and three ways out. */
import { useMemo, useState } from 'preact/hooks';
import { SideBySide } from '../../editor/side-by-side.tsx';
import { type JsonTree, parseJson } from '../../json/json-tree.ts';
import { printPretty } from '../../json/print-json.ts';
import type { StagedEdit } from '../../staging/staged.ts';
import { FieldChoices } from './field-choices.tsx';
import { type Choices, comparedFields, mergedTree, ownProblem, threeWay, type Version } from './merge.ts';
import './conflict.css';

interface NewerRevisionProps {
  readonly edit: StagedEdit;
  /** The stored text now; undefined: it was deleted. */
  readonly theirs: string | undefined;
  /** Goes on with a text, on top of what is stored now. Undefined: deletes the document. */
  readonly onKeep: (text: string | undefined) => void;
  /** Forgets the edit. */
  readonly onTakeTheirs: () => void;
}

export function NewerRevision({ edit, theirs, onKeep, onTakeTheirs }: NewerRevisionProps) {
  const [shown, setShown] = useState<'theirs' | 'merge' | undefined>(undefined);
  const merge = useMemo(() => mergeOf(edit, theirs), [edit, theirs]);
  const toggle = (what: 'theirs' | 'merge') => setShown(shown === what ? undefined : what);
  return (
    <section class="conflict" aria-label="A newer revision">
      <p role="status">
        {theirs === undefined
          ? 'Somebody else has deleted this document since you began to edit.'
          : 'Somebody else has stored a newer revision since you began to edit.'}{' '}
        Your edit is kept until you choose.
      </p>
      <div class="tool-row">
        {theirs !== undefined && (
          <button type="button" aria-expanded={shown === 'theirs'} onClick={() => toggle('theirs')}>
            See theirs
          </button>
        )}
        <button type="button" onClick={() => onKeep(edit.after)}>
          Keep mine
        </button>
        <button type="button" onClick={onTakeTheirs}>
          Take theirs
        </button>
        {merge !== undefined && (
          <button type="button" aria-expanded={shown === 'merge'} onClick={() => toggle('merge')}>
            Merge by field
          </button>
        )}
      </div>
      {shown === 'theirs' && theirs !== undefined && (
        <div class="newer-texts">
          <SideBySide
            before={{ label: 'Theirs, as it is stored', text: theirs }}
            after={{ label: 'Yours', text: edit.after ?? '' }}
          />
        </div>
      )}
      {shown === 'merge' && merge !== undefined && <MergeByField merge={merge} onMerged={onKeep} />}
    </section>
  );
}

interface Merge {
  readonly versions: readonly [mine: Version, theirs: Version];
  readonly choices: Choices;
  readonly contested: readonly string[];
}

/** Undefined: there is nothing to be merged, or one of the texts is not JSON. */
function mergeOf({ before, after }: StagedEdit, theirs: string | undefined): Merge | undefined {
  const [base, own, other] = [before, after, theirs].map(treeOf);
  if (own === undefined || other === undefined) return undefined;
  const mine: Version = { key: 'mine', label: 'yours', tree: own };
  const stored: Version = { key: 'theirs', label: 'theirs', tree: other };
  return { versions: [mine, stored], ...threeWay(base ?? { kind: 'object', entries: [] }, mine, stored) };
}

function treeOf(text: string | undefined): JsonTree | undefined {
  try {
    const tree = text === undefined ? undefined : parseJson(text);
    return tree?.kind === 'object' ? tree : undefined;
  } catch {
    return undefined;
  }
}

function MergeByField({ merge, onMerged }: { readonly merge: Merge; readonly onMerged: (text: string) => void }) {
  const { versions, contested } = merge;
  const [choices, setChoices] = useState(merge.choices);
  const { different } = comparedFields(versions);
  const problem = different.map((name) => ownProblem(choices.get(name))).find((one) => one !== undefined);
  return (
    <>
      <FieldChoices
        versions={versions}
        different={different}
        contested={contested}
        choices={choices}
        onChoose={(names, choice) => setChoices(new Map([...choices, ...names.map((name) => [name, choice] as const)]))}
      />
      <button
        type="button"
        class="primary"
        disabled={problem !== undefined}
        onClick={() => onMerged(printPretty(withTheirAttachments(mergedTree(versions, choices), versions)))}
      >
        Continue with the merged text
      </button>
    </>
  );
}

/** Attachments are not edited in the text: what is stored counts. */
function withTheirAttachments(merged: JsonTree, [, theirs]: Merge['versions']): JsonTree {
  if (merged.kind !== 'object' || theirs.tree.kind !== 'object') return merged;
  const isAttachments = ({ nameText }: { readonly nameText: string }) => nameText === '"_attachments"';
  const stored = theirs.tree.entries.filter(isAttachments);
  return { ...merged, entries: [...merged.entries.filter((entry) => !isAttachments(entry)), ...stored] };
}
