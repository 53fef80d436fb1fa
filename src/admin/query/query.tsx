/** The query lab: selectors, how the server runs them, and the indexes that serve them. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { Icon } from '../components/icon.tsx';
import { type KeyHelp, useKeyHelp } from '../components/key-help.ts';
import { useLoaded } from '../components/load.ts';
import { Editor } from '../editor/editor.tsx';
import type { DatabaseScreenProps } from '../page/screen-props.ts';
import type { JsonObject } from '../server/client.ts';
import { infoOf } from '../server/databases.ts';
import { type Explanation, explain, fieldNames } from './explain.ts';
import { Explained } from './explained.tsx';
import { FoundDocuments } from './found-documents.tsx';
import { IndexTable } from './index-table.tsx';
import { makeIndex } from './make-index.ts';
import { SavedBar } from './saved-bar.tsx';
import { keepText, lastText } from './saved-queries.ts';
import { listIndexes } from './selector-indexes.ts';
import {
  FIRST_TEXT,
  type Found,
  find,
  isFull,
  limitOf,
  MAX_RESULTS,
  parseQuery,
  suggestedBy,
} from './selector-query.ts';
import './query.css';

const KEYS: readonly KeyHelp[] = [{ keys: 'Ctrl+Enter', does: 'run the query' }];

export function Query({ database }: DatabaseScreenProps) {
  useKeyHelp('The query', KEYS);
  const [text, setText] = useState(() => lastText(database) ?? FIRST_TEXT);
  const typed = useRef(text);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const run = useRun(database);
  const indexes = useLoaded((signal) => listIndexes(database, signal), [database]);
  const change = (next: string) => {
    typed.current = next;
    setText(next);
    keepText(database, next);
  };
  const begin = (bookmark?: string) => {
    const query = parseQuery(typed.current);
    setProblem(typeof query === 'string' ? query : undefined);
    if (typeof query !== 'string') run.begin(query, bookmark);
  };
  const make = async () => {
    if (run.suggested === undefined) return;
    const documents = await infoOf(database).then(
      (info) => info.documents,
      () => undefined,
    );
    makeIndex(database, run.suggested, documents, () => {
      indexes.reload();
      begin();
    });
  };
  return (
    <section class="query-screen">
      <SavedBar database={database} text={text} onOpen={change} />
      <QueryEditor text={text} onChange={change} onRun={begin} />
      {problem !== undefined && (
        <p class="field-error" role="alert">
          {problem}
        </p>
      )}
      <div class="tool-row">
        <button type="button" class="primary" disabled={run.isRunning} onClick={() => begin()}>
          <Icon name="play" /> {run.isRunning ? 'Running …' : 'Run'}
        </button>
        <span class="muted">
          <span class="key-hint">Ctrl+Enter runs it too. </span>No document is changed.
        </span>
      </div>
      <Outcome database={database} run={run} onMakeIndex={() => void make()} onNext={begin} />
      <IndexTable database={database} indexes={indexes} readAt={run.ended} />
    </section>
  );
}

interface QueryEditorProps {
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly onRun: () => void;
}

/** Ctrl+Enter or ⌘Enter runs the query. */
function QueryEditor({ text, onChange, onRun }: QueryEditorProps) {
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation();
    onRun();
  };
  return (
    <div onKeyDownCapture={onKey}>
      <Editor label="Query" language="json" text={text} lines={8} onChange={onChange} />
    </div>
  );
}

type Run = ReturnType<typeof useRun>;

interface OutcomeProps {
  readonly database: string;
  readonly run: Run;
  readonly onMakeIndex: () => void;
  readonly onNext: (bookmark: string) => void;
}

function Outcome({ database, run, onMakeIndex, onNext }: OutcomeProps) {
  const { outcome, failure, suggested } = run;
  const helpful = suggested === undefined ? undefined : fieldNames(suggested.fields).join(', ');
  const found = outcome?.found;
  return (
    <div class="query-part" aria-live="polite">
      <ErrorNote failure={failure} />
      {(outcome !== undefined || helpful !== undefined) && (
        <Explained
          database={database}
          explanation={outcome?.explanation}
          hasExplanation={outcome !== undefined}
          found={found}
          helpful={helpful}
          onMakeIndex={onMakeIndex}
        />
      )}
      {found !== undefined && (
        <FoundDocuments database={database} docs={found.docs} fields={fieldsOf(outcome?.query)} />
      )}
      {outcome !== undefined && outcome.query.limit !== limitOf(outcome.query) && (
        <p class="muted">The page shows {MAX_RESULTS} documents at a time.</p>
      )}
      {outcome?.found.bookmark !== undefined && isFull(outcome.query, outcome.found) && (
        <button type="button" onClick={() => onNext(outcome.found.bookmark ?? '')}>
          Next page
        </button>
      )}
    </div>
  );
}

interface RunOutcome {
  readonly query: JsonObject;
  readonly explanation: Explanation | undefined;
  readonly found: Found;
}

/** Runs one query at a time: a newer one aborts the one before. */
function useRun(database: string) {
  const [outcome, setOutcome] = useState<RunOutcome | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isRunning, setRunning] = useState(false);
  const [ended, setEnded] = useState(0);
  const controller = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => controller.current?.abort(), []);
  const begin = async (query: JsonObject, bookmark: string | undefined) => {
    controller.current?.abort();
    controller.current = new AbortController();
    const { signal } = controller.current;
    setRunning(true);
    try {
      const [found, explained] = await Promise.allSettled([
        find(database, query, bookmark, signal),
        explain(database, query, signal),
      ]);
      if (signal.aborted) return;
      if (found.status === 'rejected') throw found.reason;
      if (explained.status === 'rejected') throw explained.reason;
      setOutcome({ query, found: found.value, explanation: explained.value });
      setFailure(undefined);
    } catch (error) {
      setOutcome(undefined);
      setFailure(error);
    } finally {
      if (!signal.aborted) {
        setRunning(false);
        setEnded((former) => former + 1);
      }
    }
  };
  const suggested = suggestedBy(failure) ?? outcome?.found.suggested ?? outcome?.explanation?.suggested;
  return {
    outcome,
    failure,
    isRunning,
    /** How many queries have ended, each of which may have brought an index up to date. */
    ended,
    suggested,
    begin: (query: JsonObject, mark?: string) => void begin(query, mark),
  };
}

function fieldsOf(query: JsonObject | undefined): readonly string[] {
  return Array.isArray(query?.fields) ? query.fields.map(String) : [];
}
