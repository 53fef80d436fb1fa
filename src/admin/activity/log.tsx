/** The end of the server's log, filtered and followed. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Absent } from '../components/absent.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { formatBytes, formatCount, formatTime } from '../components/format.ts';
import { Icon } from '../components/icon.tsx';
import { useLoaded } from '../components/load.ts';
import { type LogEntry, MAX_LOG_BYTES, readLog } from '../server/activity.ts';

const EVERY_MS = 2_000;
const FIRST_BYTES = 40_000;
/** Entries that are drawn. */
const SHOWN = 1_000;

const LEVELS = ['error', 'warning', 'info', 'debug', 'request'] as const;

export function Log() {
  const [bytes, setBytes] = useState(FIRST_BYTES);
  const [isFollowing, setFollowing] = useState(true);
  const [level, setLevel] = useState('');
  const [text, setText] = useState('');
  const { value, failure, reload } = useLoaded(
    async (signal) => ({ entries: await readLog(bytes, signal) }),
    [bytes],
    isFollowing ? EVERY_MS : undefined,
  );
  const entries = value?.entries;
  const shown = useMemo(
    () => (entries ?? []).filter((one) => (level === '' || one.level === level) && matches(one, text)),
    [entries, level, text],
  );
  if (value !== undefined && entries === undefined) {
    return <Absent>This server has no log that can be read over HTTP.</Absent>;
  }
  return (
    <>
      <div class="tool-row">
        <Filter level={level} setLevel={setLevel} text={text} setText={setText} />
        <label class="switch">
          <input
            type="checkbox"
            role="switch"
            checked={isFollowing}
            aria-checked={isFollowing}
            onChange={(event) => setFollowing(event.currentTarget.checked)}
          />
          Follow
        </label>
        <span class="spring" />
        {!isFollowing && (
          <button type="button" onClick={reload}>
            Reload
          </button>
        )}
        {bytes < MAX_LOG_BYTES && (
          <button type="button" onClick={() => setBytes(Math.min(MAX_LOG_BYTES, bytes * 5))}>
            Load earlier entries
          </button>
        )}
      </div>
      <ErrorNote failure={failure} retry={reload} />
      {entries !== undefined && <Count all={entries.length} shown={shown.length} bytes={bytes} />}
      <Entries entries={shown.slice(-SHOWN)} isFollowing={isFollowing} />
    </>
  );
}

function matches({ time, text }: LogEntry, wanted: string): boolean {
  return wanted === '' || `${shownTime(time)} ${time} ${text}`.toLowerCase().includes(wanted.toLowerCase());
}

/** The server's text, if it is not a time. */
function shownTime(text: string): string {
  const at = Date.parse(text);
  return Number.isNaN(at) ? text : formatTime(at);
}

interface FilterProps {
  readonly level: string;
  readonly setLevel: (level: string) => void;
  readonly text: string;
  readonly setText: (text: string) => void;
}

function Filter({ level, setLevel, text, setText }: FilterProps) {
  return (
    <>
      <select aria-label="Level" value={level} onChange={(event) => setLevel(event.currentTarget.value)}>
        <option value="">All levels</option>
        {LEVELS.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
      <label class="search">
        <Icon name="search" />
        <input
          type="search"
          placeholder="Text contains"
          aria-label="Text contains"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
    </>
  );
}

interface CountProps {
  readonly all: number;
  readonly shown: number;
  readonly bytes: number;
}

function Count({ all, shown, bytes }: CountProps) {
  const where = `in the last ${formatBytes(bytes)} of the log`;
  return (
    <p class="muted">
      {shown === all ? `${formatCount(all)} entries` : `${formatCount(shown)} of ${formatCount(all)} entries`} {where}.{' '}
      {shown > SHOWN && `The last ${formatCount(SHOWN)} are shown. `}The setting <code>log/level</code> decides what is
      written.
    </p>
  );
}

/** Scrolls to the newest entry as long as the user has not scrolled away from it. */
function Entries({ entries, isFollowing }: { readonly entries: readonly LogEntry[]; readonly isFollowing: boolean }) {
  const element = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const { current } = element;
    if (current !== null && isFollowing && isAtEnd.current) current.scrollTop = current.scrollHeight;
  }, [entries, isFollowing]);
  return (
    <div
      ref={element}
      class="log"
      role="log"
      aria-label="Log"
      aria-live="off"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 30;
      }}
    >
      {entries.map(({ time, level, text }, index) => (
        <p key={`${time} ${index}`} class={level}>
          <time title={time}>{shownTime(time)}</time>{' '}
          <span class={`tag ${level === 'error' ? 'bad' : ''}`}>{level}</span> <span>{text}</span>
        </p>
      ))}
    </div>
  );
}
