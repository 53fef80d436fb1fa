import { useState } from 'preact/hooks';
import type { Json } from '../server/client.ts';
import type { RowQuery } from './rows.ts';

interface RowFormProps {
  readonly hasReduce: boolean;
  readonly onShow: (query: RowQuery) => void;
}

const LEVELS = [1, 2, 3, 4, 5] as const;

/** Which rows of a view are shown: reduced or not, and between which keys. What is chosen applies at once; keys are typed, and then applied. */
export function RowForm({ hasReduce, onShow }: RowFormProps) {
  const [kind, setKind] = useState('rows');
  const [start, setStart] = useState('');
  const [end, setEnd] = useState('');
  const [isDescending, setDescending] = useState(false);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const show = (chosen: { readonly kind: string; readonly isDescending: boolean }) => {
    setKind(chosen.kind);
    setDescending(chosen.isDescending);
    try {
      const [startkey, endkey] = [parseKey('Start key', start), parseKey('End key', end)];
      setProblem(undefined);
      const [isReduced, group] = [chosen.kind !== 'rows', groupOf(chosen.kind)];
      onShow({ isReduced, group, isDescending: chosen.isDescending, startkey, endkey });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : `${error}`);
    }
  };
  return (
    <form
      class="row-form"
      onSubmit={(event) => {
        event.preventDefault();
        show({ kind, isDescending });
      }}
    >
      {hasReduce && (
        <label class="field">
          <span>Show</span>
          <select value={kind} onChange={(event) => show({ kind: event.currentTarget.value, isDescending })}>
            <option value="rows">Rows, not reduced</option>
            <option value="all">One reduction of all</option>
            <option value="key">A reduction per key</option>
            {LEVELS.map((level) => (
              <option key={level} value={`${level}`}>
                Per first {level === 1 ? 'element' : `${level} elements`} of the key
              </option>
            ))}
          </select>
        </label>
      )}
      <label class="switch">
        <input
          type="checkbox"
          checked={isDescending}
          onChange={(event) => show({ kind, isDescending: event.currentTarget.checked })}
        />
        <span>Descending</span>
      </label>
      <KeyField label="Start key" value={start} onChange={setStart} />
      <KeyField label="End key" value={end} onChange={setEnd} />
      <button type="submit">Apply keys</button>
      {problem !== undefined && (
        <p class="field-error" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}

interface KeyFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

function KeyField({ label, value, onChange }: KeyFieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        value={value}
        placeholder={'JSON, such as "a" or [1]'}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

function groupOf(kind: string): RowQuery['group'] {
  if (kind === 'all' || kind === 'key') return kind;
  const level = Number(kind);
  return Number.isInteger(level) ? level : 'all';
}

function parseKey(label: string, text: string): Json | undefined {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${label} is not JSON. Put text in double quotes: "${text.replaceAll('"', '')}".`);
  }
}
