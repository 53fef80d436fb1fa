/** The field that leads to an id. */
import { useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { Icon } from '../components/icon.tsx';
import { goTo } from '../page/router.ts';
import { documentPage } from '../server/documents.ts';
import { type ListSettings, setFilter } from './list-state.ts';
import { EVERYTHING } from './row-sources/filter.ts';

interface GoToProps {
  readonly database: string;
  readonly settings: ListSettings;
  readonly onShow: (index: number) => void;
}

/** Goes to an id, or to where it would be, and marks the row. Enter once more opens the document. */
export function GoTo({ database, settings, onShow }: GoToProps) {
  const [text, setText] = useState('');
  const [place, setPlace] = useState<Place | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const jump = async () => {
    setFailure(undefined);
    setPlace(undefined);
    try {
      const found = await placeOf(database, text);
      if (settings.filter.value.kind !== 'all') setFilter(settings, EVERYTHING);
      if (found.index === undefined) setFilter(settings, { kind: 'prefix', prefix: text });
      else onShow(found.index);
      settings.marked.value = found.id;
      setPlace(found);
    } catch (error) {
      setFailure(error);
    }
  };
  // After a move in the list, Enter goes back to the row first.
  const opens = place?.isThere === true && place.id === settings.marked.value ? place.id : undefined;
  const submit = (event: Event) => {
    event.preventDefault();
    if (opens === undefined) void jump();
    else goTo(['db', database, 'document', opens]);
  };
  return (
    <div class="go-to">
      <form class="search" onSubmit={submit}>
        <Icon name="search" />
        <input
          id="go-to-id"
          type="search"
          placeholder="Go to an id, or its beginning"
          aria-label="Go to an id, or its beginning"
          enterkeyhint="go"
          spellcheck={false}
          autocapitalize="none"
          autocomplete="off"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setPlace(undefined);
          }}
        />
      </form>
      <p class="muted" role="status">
        {opens === undefined ? place?.note : `Enter opens ${opens}.`}
      </p>
      <ErrorNote failure={failure} />
    </div>
  );
}

interface Place {
  /** Of the row; undefined if the server does not say how many documents come before an id. */
  readonly index: number | undefined;
  /** Of the document in the row; undefined at the end of the list. */
  readonly id: string | undefined;
  /** Its id begins with what the user has typed. */
  readonly isThere: boolean;
  readonly note?: string;
}

async function placeOf(database: string, text: string): Promise<Place> {
  const { offset, rows, total } = await documentPage(database, { limit: 1, startkey: text });
  const [row] = rows;
  if (row === undefined) {
    const note = `No id begins with “${text}”: this is the end of the list.`;
    return { index: Math.max(0, total - 1), id: undefined, isThere: false, note };
  }
  const isThere = text !== '' && row.id.startsWith(text);
  const isNear = isThere || text === '';
  const place = {
    id: row.id,
    isThere,
    ...(!isNear && { note: `No id begins with “${text}”: the next one is marked.` }),
  };
  if (offset === undefined) return { ...place, index: undefined };
  // Some servers say something, but not that.
  const { rows: there } = await documentPage(database, { limit: 1, skip: offset });
  return { ...place, index: there[0]?.id === row.id ? offset : undefined };
}
