import { useState } from 'preact/hooks';
import { CopyButton } from '../components/copy-button.tsx';
import { formatCount, formatTime } from '../components/format.ts';
import { prettyJson } from '../json/print-json.ts';
import { asCurl, asFetch } from '../review/request-text.ts';
import { type LoggedRequest, requestLog } from '../server/client.ts';
import { StatusTag } from './request-form.tsx';
import { type Draft, isWrite, toDraft } from './requests.ts';

const PER_PAGE = 50;

/** What the page has requested, newest first. */
export function RequestLog({ onEdit }: { readonly onEdit: (draft: Draft) => void }) {
  const [filter, setFilter] = useState('');
  const [isOnlyWrites, setOnlyWrites] = useState(false);
  const [most, setMost] = useState(PER_PAGE);
  const found = requestLog.value.filter(
    (one) => `${one.method} ${one.path}`.includes(filter) && (!isOnlyWrites || isWrite(toDraft(one))),
  );
  return (
    <section class="console-part" aria-label="Log">
      <h2>What this page has requested</h2>
      <p class="muted">
        The latest 300 requests, newest first. Requests with passwords, and those that the page repeats by itself, are
        left out.
      </p>
      <div class="tool-row">
        <label class="search">
          <input
            type="search"
            placeholder="Method or path contains …"
            aria-label="Method or path contains"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        </label>
        <label class="switch">
          <input
            type="checkbox"
            checked={isOnlyWrites}
            onChange={(event) => setOnlyWrites(event.currentTarget.checked)}
          />
          Only writes
        </label>
      </div>
      {found.length === 0 && <p class="muted">{filter === '' ? 'Nothing yet.' : 'No request is like that.'}</p>}
      <ul class="request-log">
        {found.slice(0, most).map((one) => (
          <LogEntry key={one.number} entry={one} onEdit={onEdit} />
        ))}
      </ul>
      {found.length > most && (
        <button type="button" onClick={() => setMost(most + PER_PAGE)}>
          Show more of {formatCount(found.length)}
        </button>
      )}
    </section>
  );
}

function LogEntry({ entry, onEdit }: { readonly entry: LoggedRequest; readonly onEdit: (draft: Draft) => void }) {
  const [isOpen, setOpen] = useState(false);
  const { method, path, status, tookMs, at } = entry;
  return (
    <li>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <code>
            {method} /{path}
          </code>{' '}
          <StatusTag status={status} />{' '}
          <small class="muted">
            {Math.round(tookMs)} ms · {formatTime(at)}
          </small>
        </summary>
        {isOpen && <Contents entry={entry} />}
      </details>
      <div class="log-actions">
        <CopyButton text={asFetch(entry)} label="Copy as fetch" />
        <CopyButton text={asCurl(entry)} label="Copy as curl" />
        <button
          type="button"
          class="quiet"
          aria-label={`Edit ${method} /${path}`}
          onClick={() => onEdit(toDraft(entry))}
        >
          Edit
        </button>
      </div>
    </li>
  );
}

function Contents({ entry }: { readonly entry: LoggedRequest }) {
  return (
    <>
      {entry.json !== undefined && (
        <>
          <h3>Body</h3>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard */}
          <pre class="code" tabIndex={0}>
            {prettyJson(entry.json)}
          </pre>
        </>
      )}
      <h3>Response{entry.response.length >= 20_000 && ' (its beginning)'}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard */}
      <pre class="code" tabIndex={0}>
        {prettyJson(entry.response)}
      </pre>
    </>
  );
}
