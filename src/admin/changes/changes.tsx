/** The changes of a database as they happen. */
import { useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { formatCount, formatMany } from '../components/format.ts';
import { Icon } from '../components/icon.tsx';
import type { DatabaseScreenProps } from '../page/screen-props.ts';
import { ServerError } from '../server/client.ts';
import { ChangeRow } from './change-row.tsx';
import { seqText } from './follow.ts';
import { useLiveChanges } from './live.ts';
import { type LiveChanges, MAX_PER_SECOND } from './news.ts';
import './changes.css';
import { isBrowser } from '../server/where.ts';

/** Rows that load by themselves what they changed, unless more than as many come in a second. */
const EAGER_ROWS = 20;

export function Changes({ database }: DatabaseScreenProps) {
  const [filter, setFilter] = useState('');
  const [isPaused, setPaused] = useState(false);
  const live = useLiveChanges(database, isPaused, filter);
  const isLost = live.failure instanceof ServerError && live.failure.status === 0;
  const shown = live.events.filter(({ id }) => id.includes(filter));
  return (
    <section class="changes">
      <h2 class="hidden">Changes</h2>
      <div class="tool-row">
        <label class="search">
          <Icon name="search" />
          <input
            type="search"
            placeholder="Id contains …"
            aria-label="Id contains"
            spellcheck={false}
            autocapitalize="none"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        </label>
        <StateTag isPaused={isPaused} isLost={isLost} />
        <span class="muted">{formatCount(live.rate)} a second</span>
        <span class="spring" />
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          <Icon name={isPaused ? 'play' : 'pause'} />
          {isPaused ? 'Continue' : 'Pause'}
        </button>
      </div>
      {!isLost && <ErrorNote failure={live.failure} />}
      <Band live={live} isPaused={isPaused} />
      {live.isLoaded && live.events.length === 0 && <p class="empty">Nothing has been written to this database yet.</p>}
      {live.events.length > 0 && shown.length === 0 && <p class="muted">No id here contains “{filter}”.</p>}
      {shown.length > 0 && (
        <ul class="change-list">
          {shown.map((event, index) => (
            <ChangeRow
              key={`${seqText(event.seq)} ${event.rev}`}
              database={database}
              event={event}
              isEager={index < EAGER_ROWS && live.rate <= EAGER_ROWS}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

function StateTag({ isPaused, isLost }: { readonly isPaused: boolean; readonly isLost: boolean }) {
  if (isLost) return <span class="tag warn">waits for {isBrowser.value ? 'the database' : 'the server'}</span>;
  return <span class={isPaused ? 'tag warn' : 'tag good'}>{isPaused ? 'paused' : 'live'}</span>;
}

/** What is not listed, and why. */
function Band({ live, isPaused }: { readonly live: LiveChanges; readonly isPaused: boolean }) {
  const { rate, skipped, waiting, isTooMany } = live;
  if (isPaused) {
    return (
      <p class="note" role="status">
        {formatMany(waiting, 'change')} came since the list was paused. At most the latest 200 are listed when it goes
        on.
      </p>
    );
  }
  if (isTooMany) {
    return (
      <p class="banner warn change-band" role="status">
        <Icon name="warning" /> {formatCount(rate)} changes a second: too many to list, so they are only counted.{' '}
        {formatCount(skipped)} are not listed. A filter lists those that match, if they are few.
      </p>
    );
  }
  if (skipped === 0) return null;
  return (
    <p class="note" role="status">
      {formatMany(skipped, 'change')} came faster than {MAX_PER_SECOND} a second and are not listed.
    </p>
  );
}
