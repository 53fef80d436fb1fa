/** A draft of a view: it runs on some documents before anything is stored. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Breadcrumb } from '../components/breadcrumb.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { formatMany } from '../components/format.ts';
import { Icon } from '../components/icon.tsx';
import { useLoaded } from '../components/load.ts';
import type { Problem } from '../editor/code-editor.ts';
import { Editor } from '../editor/editor.tsx';
import { hrefOf } from '../page/router.ts';
import { infoOf } from '../server/databases.ts';
import { server } from '../server/session.ts';
import { designDocument } from './design-documents.ts';
import { DraftOutcome } from './draft-outcome.tsx';
import { type DraftProblem, type DraftResult, type DraftSource, NoDraftsError, runDraft } from './draft-run.ts';
import { splitName } from './save-draft.ts';
import { SaveForm } from './save-form.tsx';

interface DraftProps {
  readonly database: string;
  /** A stored view, `name/view`, that the draft begins with; empty: a new one. */
  readonly of: string;
}

const FIRST: DraftSource = {
  map: `function (doc) {
  emit(doc._id, null);
}`,
  reduce: '',
};

export function Draft({ database, of }: DraftProps) {
  const [name, view] = splitName(of);
  const [round, setRound] = useState(0);
  const { value, failure, reload } = useLoaded(
    async (signal): Promise<DraftSource> => {
      const kept = keptDraft(database, of);
      if (kept !== undefined || of === '') return kept ?? FIRST;
      const design = await designDocument(database, name, signal);
      const found = design?.views.find((one) => one.name === view);
      return { map: found?.map ?? FIRST.map, reduce: found?.reduce ?? '' };
    },
    [database, of, round],
  );
  return (
    <section class="views-screen">
      <header class="tool-row">
        <Breadcrumb
          label="Where the view is"
          above={[{ label: 'All views', href: hrefOf(['db', database, 'views']) }]}
        />
        <h2>{of === '' ? 'Draft of a view' : `Draft of ${name}/${view}`}</h2>
      </header>
      <ErrorNote failure={failure} retry={reload} />
      {value !== undefined && (
        <OpenDraft key={round} database={database} begin={value} of={of} onDiscard={() => setRound(round + 1)} />
      )}
    </section>
  );
}

interface OpenDraftProps {
  readonly database: string;
  readonly begin: DraftSource;
  readonly of: string;
  /** Begins again. */
  readonly onDiscard: () => void;
}

/** What is typed stays in the page's storage until it is saved or discarded. */
function OpenDraft({ database, begin, of, onDiscard }: OpenDraftProps) {
  const [source, setSource] = useState(begin);
  const run = useDraftRun(database);
  const latest = useRef(source);
  const change = (part: Partial<DraftSource>) => {
    latest.current = { ...latest.current, ...part };
    setSource(latest.current);
    localStorage.setItem(keyOf(database, of), JSON.stringify(latest.current));
  };
  const mapMarks = useMemo(() => marksOf('map', run.result), [run.result]);
  const reduceMarks = useMemo(() => marksOf('reduce', run.result), [run.result]);
  return (
    <>
      <div class="draft-part">
        <h3>Map</h3>
        <Editor
          label="Map function"
          language="javascript"
          text={begin.map}
          lines={8}
          problems={mapMarks}
          onChange={(map) => change({ map })}
        />
      </div>
      <div class="draft-part">
        <h3>Reduce</h3>
        <p class="muted">
          A function, or one of <code>_sum</code>, <code>_count</code>, <code>_stats</code>. Empty: none.
        </p>
        <Editor
          label="Reduce function"
          language="javascript"
          text={begin.reduce}
          lines={2}
          problems={reduceMarks}
          onChange={(reduce) => change({ reduce })}
        />
      </div>
      <RunRow
        database={database}
        isRunning={run.isRunning}
        hasRun={run.result !== undefined}
        onRun={(count) => run.begin(latest.current, count)}
      />
      <SaveForm
        database={database}
        source={source}
        of={of}
        onSaved={() => forgetDraft(database, of)}
        onDiscard={() => {
          forgetDraft(database, of);
          onDiscard();
        }}
      />
      <div class="draft-part" aria-live="polite">
        <RunFailure failure={run.failure} />
        {run.result !== undefined && <DraftOutcome database={database} result={run.result} />}
      </div>
    </>
  );
}

/** A new array for each result: the editor marks its lines until the text is changed. */
function marksOf(part: DraftProblem['part'], result: DraftResult | undefined): readonly Problem[] {
  return (result?.problems ?? []).flatMap(({ part: of, line, message }) =>
    of === part && line !== undefined ? [{ line, message }] : [],
  );
}

function RunFailure({ failure }: { readonly failure: unknown }) {
  if (!(failure instanceof NoDraftsError)) return <ErrorNote failure={failure} />;
  return (
    <p class="note">
      This server has no _temp_view, so it can't run drafts. Save the draft into a design document of its own, and open
      the view there.
    </p>
  );
}

interface RunRowProps {
  readonly database: string;
  readonly isRunning: boolean;
  /** Its rows are shown: another number of documents applies at once. */
  readonly hasRun: boolean;
  readonly onRun: (count: number) => void;
}

/** Other servers read all documents for a draft: from this size on, that takes a time that is worth a word. */
const LARGE = 50_000;

function RunRow({ database, isRunning, hasRun, onRun }: RunRowProps) {
  const [count, setCount] = useState(100);
  const { value: info } = useLoaded((signal) => infoOf(database, signal), [database]);
  const documents = info?.documents ?? 0;
  const choose = (next: number) => {
    setCount(next);
    if (hasRun) onRun(next);
  };
  return (
    <div class="tool-row">
      <button type="button" class="primary" disabled={isRunning} onClick={() => onRun(count)}>
        <Icon name="play" /> {isRunning ? 'Running …' : 'Run'}
      </button>
      <label class="inline-field">
        <span>on the first</span>
        <select value={`${count}`} onChange={(event) => choose(Number(event.currentTarget.value))}>
          {[10, 100, 1000].map((one) => (
            <option key={one} value={`${one}`}>
              {formatMany(one, 'document')}
            </option>
          ))}
        </select>
      </label>
      <span class="muted">
        Nothing is stored.
        {server.value?.isSettee !== true &&
          documents >= LARGE &&
          ` The server reads all ${formatMany(documents, 'document')} for it: that takes a while.`}
      </span>
    </div>
  );
}

/** Runs one draft at a time: a newer one aborts the one before. */
function useDraftRun(database: string) {
  const [result, setResult] = useState<DraftResult | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isRunning, setRunning] = useState(false);
  const controller = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => controller.current?.abort(), []);
  const begin = async (source: DraftSource, count: number) => {
    controller.current?.abort();
    controller.current = new AbortController();
    const { signal } = controller.current;
    setRunning(true);
    try {
      const found = await runDraft(database, source, count, signal);
      if (signal.aborted) return;
      setResult(found);
      setFailure(undefined);
    } catch (error) {
      if (signal.aborted) return;
      setResult(undefined);
      setFailure(error);
    } finally {
      if (!signal.aborted) setRunning(false);
    }
  };
  return { result, failure, isRunning, begin: (source: DraftSource, count: number) => void begin(source, count) };
}

const keyOf = (database: string, of: string) => `settee-utils/draft/${database}/${of}`;

function forgetDraft(database: string, of: string): void {
  localStorage.removeItem(keyOf(database, of));
}

function keptDraft(database: string, of: string): DraftSource | undefined {
  try {
    const { map, reduce } = JSON.parse(localStorage.getItem(keyOf(database, of)) ?? '');
    return { map: `${map}`, reduce: `${reduce}` };
  } catch {
    return undefined;
  }
}
