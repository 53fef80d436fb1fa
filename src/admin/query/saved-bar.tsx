import { useState } from 'preact/hooks';
import { Icon } from '../components/icon.tsx';
import { useSavedQueries } from './saved-queries.ts';

interface SavedBarProps {
  readonly database: string;
  readonly text: string;
  readonly onOpen: (text: string) => void;
}

/** The saved queries of a database, and a field that saves another one. */
export function SavedBar({ database, text, onOpen }: SavedBarProps) {
  const { saved, save, forget } = useSavedQueries(database);
  const [name, setName] = useState('');
  const names = Object.keys(saved).sort();
  const keep = (event: Event) => {
    event.preventDefault();
    if (name.trim() === '') return;
    save(name.trim(), text);
    setName('');
  };
  return (
    <section class="saved-bar" aria-label="Saved queries">
      {names.map((one) => (
        <span class="saved-query" key={one}>
          <button type="button" onClick={() => onOpen(saved[one] ?? '')}>
            {one}
          </button>
          <button type="button" class="quiet" aria-label={`Forget the query ${one}`} onClick={() => forget(one)}>
            <Icon name="close" />
          </button>
        </span>
      ))}
      <form class="tool-row" onSubmit={keep}>
        <input
          value={name}
          placeholder="Name of this query"
          aria-label="Name of this query"
          autocomplete="off"
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button type="submit" disabled={name.trim() === ''}>
          {names.includes(name.trim()) ? 'Replace' : 'Save'}
        </button>
      </form>
    </section>
  );
}
