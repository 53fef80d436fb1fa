/** Which documents are shown. */
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { type ListSettings, setFilter } from './list-state.ts';
import { EVERYTHING, type Filter, type FilterKind, parseSelector } from './row-sources/filter.ts';

const KINDS: readonly (readonly [FilterKind, string])[] = [
  ['all', 'All documents'],
  ['prefix', 'Ids that begin with …'],
  ['design', 'Design documents'],
  ['deleted', 'Deleted documents'],
  ['conflicts', 'Documents in conflict'],
  ['selector', 'What a selector finds …'],
];

/** A pause in typing after which the list follows. */
const PAUSE_MS = 250;

export function FilterBar({ settings }: { readonly settings: ListSettings }) {
  const filter = settings.filter.value;
  // The selector is not used before it is complete, so the choice may be ahead of the filter.
  const [kind, setKind] = useState<FilterKind>(filter.kind);
  // Before anything can be chosen: a later effect would undo the choice.
  useLayoutEffect(() => setKind(filter.kind), [filter]);
  const choose = (next: FilterKind) => {
    setKind(next);
    const chosen = simpleFilter(next);
    if (chosen !== undefined) setFilter(settings, chosen);
  };
  return (
    <>
      <label class="inline-field">
        <span>Show</span>
        <select value={kind} onChange={(event) => choose(kindOf(event.currentTarget.value))}>
          {KINDS.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {kind === 'prefix' && <PrefixField settings={settings} />}
      {kind === 'selector' && <SelectorField settings={settings} />}
    </>
  );
}

/** Undefined: there is something to be typed. */
function simpleFilter(kind: FilterKind): Filter | undefined {
  switch (kind) {
    case 'all':
      return EVERYTHING;
    case 'prefix':
      return { kind, prefix: '' };
    case 'design':
    case 'deleted':
    case 'conflicts':
      return { kind };
    case 'selector':
      return undefined;
  }
}

function kindOf(value: string): FilterKind {
  return KINDS.find(([kind]) => kind === value)?.[0] ?? 'all';
}

function PrefixField({ settings }: { readonly settings: ListSettings }) {
  const filter = settings.filter.value;
  const [text, setText] = useState(filter.kind === 'prefix' ? filter.prefix : '');
  useEffect(() => {
    if (filter.kind === 'prefix' && filter.prefix === text) return undefined;
    const timer = setTimeout(() => setFilter(settings, { kind: 'prefix', prefix: text }), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      type="search"
      aria-label="Beginning of the ids"
      placeholder="Beginning of the ids"
      autocapitalize="none"
      autocomplete="off"
      spellcheck={false}
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
    />
  );
}

function SelectorField({ settings }: { readonly settings: ListSettings }) {
  const filter = settings.filter.value;
  const [text, setText] = useState(filter.kind === 'selector' ? JSON.stringify(filter.selector) : '');
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const apply = (event: Event) => {
    event.preventDefault();
    const selector = parseSelector(text);
    setProblem(typeof selector === 'string' ? selector : undefined);
    if (typeof selector !== 'string') setFilter(settings, { kind: 'selector', selector });
  };
  return (
    <form class="selector-field" onSubmit={apply}>
      <input
        aria-label="Selector"
        placeholder='{"year": {"$lt": 1900}}'
        aria-invalid={problem !== undefined}
        autocapitalize="none"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit">Filter</button>
      {problem !== undefined && (
        <p class="field-error" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}
