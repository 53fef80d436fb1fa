/** The requests of the page: those that it has sent, and any that the user writes. */
import { useState } from 'preact/hooks';
import { Icon } from '../components/icon.tsx';
import { RequestForm } from './request-form.tsx';
import { RequestLog } from './request-log.tsx';
import { type Draft, emptyDraft, forgetRequest, savedRequests } from './requests.ts';
import './console.css';

/** What was typed: it stays while the user looks at something else. */
let typed = emptyDraft;

export function Console() {
  const [draft, setTyped] = useState<Draft>(typed);
  const setDraft = (next: Draft) => {
    typed = next;
    setTyped(next);
  };
  const edit = (next: Draft) => {
    setDraft(next);
    document.querySelector<HTMLElement>('[aria-label="Path"]:is(input)')?.focus();
  };
  return (
    <section>
      <header class="screen-head">
        <h1>Console</h1>
      </header>
      <div class="console">
        <div class="console-column">
          <RequestForm draft={draft} onDraft={setDraft} />
          <Saved onOpen={edit} />
        </div>
        <RequestLog onEdit={edit} />
      </div>
    </section>
  );
}

function Saved({ onOpen }: { readonly onOpen: (draft: Draft) => void }) {
  if (savedRequests.value.length === 0) return null;
  return (
    <section class="console-part" aria-label="Saved requests">
      <h2>Saved requests</h2>
      <p class="muted">They are kept in this browser.</p>
      <ul class="saved-requests">
        {savedRequests.value.map((one) => (
          <li key={one.name}>
            <button type="button" class="quiet" onClick={() => onOpen(one)}>
              {one.name}
            </button>
            <code class="muted">
              {one.method} /{one.path.replace(/^\/+/, '')}
            </code>
            <button
              type="button"
              class="quiet"
              aria-label={`Forget ${one.name}`}
              onClick={() => forgetRequest(one.name)}
            >
              <Icon name="trash" />
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
