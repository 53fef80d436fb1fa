import { useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { prettyJson } from '../json/print-json.ts';
import { RequestTexts } from '../review/review.tsx';
import {
  type Draft,
  isWrite,
  METHODS,
  type Outcome,
  saveRequest,
  sendDraft,
  toRequest,
  whyNotSent,
} from './requests.ts';

interface RequestFormProps {
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
}

export function RequestForm({ draft, onDraft }: RequestFormProps) {
  const [outcome, setOutcome] = useState<Outcome | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isRunning, setRunning] = useState(false);
  const why = isRunning ? 'It is running.' : whyNotSent(draft);
  const send = async (event: Event) => {
    event.preventDefault();
    setFailure(undefined);
    setRunning(true);
    try {
      setOutcome(await sendDraft(draft));
    } catch (error) {
      setFailure(error);
    } finally {
      setRunning(false);
    }
  };
  return (
    <section class="console-part" aria-label="Request">
      <form class="form" onSubmit={(event) => void send(event)}>
        <Fields draft={draft} onDraft={onDraft} />
        {why !== undefined && !isRunning && <p class="field-error">{why}</p>}
        {whyNotSent(draft) === undefined && <RequestTexts requests={[toRequest(draft)]} />}
        <div class="tool-row">
          <SendButton why={why} isWrite={isWrite(draft)} />
        </div>
      </form>
      <SaveRequest draft={draft} />
      <ErrorNote failure={failure} />
      {outcome !== undefined && <Response outcome={outcome} />}
    </section>
  );
}

/** What only reads is sent in read-only mode, too. */
function SendButton({ why, isWrite }: { readonly why: string | undefined; readonly isWrite: boolean }) {
  if (isWrite) {
    return (
      <WriteButton type="submit" class="primary" why={why}>
        Send
      </WriteButton>
    );
  }
  return (
    <button type="submit" class="primary" disabled={why !== undefined}>
      Send
    </button>
  );
}

function Fields({ draft, onDraft }: RequestFormProps) {
  const { method, path, headers, body } = draft;
  const hasBody = method !== 'GET' && method !== 'HEAD';
  return (
    <>
      <div class="request-line">
        <select
          aria-label="Method"
          value={method}
          onChange={(event) => onDraft({ ...draft, method: event.currentTarget.value })}
        >
          {METHODS.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <input
          aria-label="Path"
          placeholder="library/_all_docs?limit=10"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          value={path}
          onInput={(event) => onDraft({ ...draft, path: event.currentTarget.value })}
        />
      </div>
      {hasBody && (
        <label class="field">
          <span>Body</span>
          <textarea
            rows={6}
            spellcheck={false}
            value={body}
            onInput={(event) => onDraft({ ...draft, body: event.currentTarget.value })}
          />
        </label>
      )}
      <details class="request-headers" open={headers !== ''}>
        <summary>Headers</summary>
        <textarea
          aria-label="Headers, name: value, one a line"
          rows={2}
          spellcheck={false}
          value={headers}
          onInput={(event) => onDraft({ ...draft, headers: event.currentTarget.value })}
        />
      </details>
    </>
  );
}

function SaveRequest({ draft }: { readonly draft: Draft }) {
  const [name, setName] = useState('');
  const save = () => {
    saveRequest(name.trim(), draft);
    setName('');
  };
  return (
    <div class="save-request">
      <input
        aria-label="Name under which the request is saved"
        placeholder="Save as …"
        autocomplete="off"
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <button type="button" disabled={name.trim() === ''} onClick={save}>
        Save
      </button>
    </div>
  );
}

function Response({ outcome }: { readonly outcome: Outcome }) {
  const { status, tookMs, headers, text } = outcome;
  return (
    <section aria-label="Response" class="response">
      <h2 aria-live="polite">
        Response <StatusTag status={status} /> <small class="muted">{Math.round(tookMs)} ms</small>
      </h2>
      <details>
        <summary>Headers of the response</summary>
        <pre class="code">{[...headers].map(([name, value]) => `${name}: ${value}`).join('\n')}</pre>
      </details>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard */}
      <pre class="code" tabIndex={0}>
        {prettyJson(text)}
      </pre>
    </section>
  );
}

export function StatusTag({ status }: { readonly status: number }) {
  if (status === 0) return <span class="tag bad">no response</span>;
  return <span class={status < 400 ? 'tag good' : 'tag bad'}>{status}</span>;
}
