/** Before any write: the requests that will run, with what they change, and a button that runs them. */
import { signal } from '@preact/signals';
import { useEffect, useId, useState } from 'preact/hooks';
import { CopyButton } from '../components/copy-button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { WriteButton } from '../components/write-button.tsx';
import type { ServerRequest } from '../server/client.ts';
import { type ChangedLine, changedLines } from './changed-lines.ts';
import { asCurl, asFetch } from './request-text.ts';

export interface Change {
  /** What is changed: an id, a setting. */
  readonly name: string;
  /** Texts; undefined: it does not exist before, or afterwards. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

export interface Review {
  readonly title: string;
  /** What it affects, in sentences: how many of how many, what replicates to peers, what stays. */
  readonly effects: readonly string[];
  readonly requests: readonly ServerRequest[];
  readonly changes?: readonly Change[];
  /** The name that has to be typed first: for what can't be taken back. */
  readonly typedName?: string;
  /** The label of the button. Default: Apply. */
  readonly action?: string;
  readonly needsAdmin?: boolean;
  /** Only admins of this database may do it. */
  readonly adminOf?: string;
  /** Runs it. What it throws is shown, and the dialog stays. */
  readonly apply: () => Promise<void>;
}

const current = signal<Review | undefined>(undefined);

/** Shows the review. Its `apply` runs when the user agrees. */
export function review(what: Review): void {
  current.value = what;
}

/** Shows the review that was asked for. The page has one. */
export function ReviewDialog() {
  return current.value === undefined ? null : <OpenReview key={current.value.title} of={current.value} />;
}

function OpenReview({ of }: { readonly of: Review }) {
  const {
    title,
    effects,
    requests,
    changes = [],
    typedName,
    action = 'Apply',
    needsAdmin = false,
    adminOf,
    apply,
  } = of;
  const [typed, setTyped] = useState('');
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isRunning, setRunning] = useState(false);
  const formId = useId();
  const effectsId = useId();
  const close = () => {
    current.value = undefined;
  };
  const run = async () => {
    setRunning(true);
    setFailure(undefined);
    try {
      await apply();
      close();
    } catch (error) {
      setFailure(error);
    } finally {
      setRunning(false);
    }
  };
  const whyNot = isRunning ? 'It is running.' : whyNotTyped(typedName, typed);
  const submit = (event: Event) => {
    event.preventDefault();
    void run();
  };
  return (
    <Dialog
      title={title}
      isWide
      describedBy={effectsId}
      onClose={close}
      actions={
        <>
          <button type="button" onClick={close}>
            Cancel
          </button>
          <WriteButton
            type="submit"
            form={formId}
            class={typedName === undefined ? 'primary' : 'danger'}
            needsAdmin={needsAdmin}
            adminOf={adminOf}
            why={whyNot}
            saysWhy={!isRunning}
          >
            {isRunning ? 'Running …' : action}
          </WriteButton>
        </>
      }
    >
      <div class="effects" id={effectsId}>
        {effects.map((effect) => (
          <p key={effect}>{effect}</p>
        ))}
      </div>
      <ErrorNote failure={failure} />
      {changes.map((change) => (
        <ChangedText key={change.name} change={change} />
      ))}
      <RequestTexts requests={requests} />
      <form id={formId} onSubmit={submit}>
        {typedName !== undefined && <TypedName name={typedName} typed={typed} onInput={setTyped} />}
      </form>
    </Dialog>
  );
}

interface TypedNameProps {
  readonly name: string;
  readonly typed: string;
  readonly onInput: (typed: string) => void;
}

function TypedName({ name, typed, onInput }: TypedNameProps) {
  return (
    <label class="field">
      <span>
        Type <strong>{name}</strong> to confirm
      </span>
      <input
        value={typed}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}

function whyNotTyped(expected: string | undefined, typed: string): string | undefined {
  return expected === undefined || typed === expected ? undefined : `Type ${expected} first.`;
}

/** The requests as `fetch` and as `curl`. */
export function RequestTexts({ requests }: { readonly requests: readonly ServerRequest[] }) {
  const [kind, setKind] = useState<'fetch' | 'curl'>('fetch');
  const text = requests.map(kind === 'fetch' ? asFetch : asCurl).join('\n\n');
  return (
    <section class="request-texts" aria-label="The request that will run">
      <div class="tab-row">
        <div class="tabs" role="tablist" aria-label="Form of the request">
          {(['fetch', 'curl'] as const).map((one) => (
            <button
              type="button"
              role="tab"
              key={one}
              data-label={one}
              aria-selected={one === kind}
              onClick={() => setKind(one)}
            >
              {one}
            </button>
          ))}
        </div>
        <span class="spring" />
        <CopyButton text={text} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard */}
      <pre class="code" tabIndex={0}>
        {text}
      </pre>
    </section>
  );
}

/** The lines of a text, the changed ones marked. */
export function ChangedText({ change }: { readonly change: Change }) {
  const [lines, setLines] = useState<readonly ChangedLine[] | undefined>(undefined);
  const { name, before, after } = change;
  useEffect(() => {
    let isWanted = true;
    void changedLines(before ?? '', after ?? '').then((found) => {
      if (isWanted) setLines(found);
    });
    return () => {
      isWanted = false;
    };
  }, [before, after]);
  return (
    <section class="changed-text" aria-label={`Changes of ${name}`}>
      <h3>
        {name} {before === undefined && <span class="tag good">new</span>}
        {after === undefined && <span class="tag bad">to be deleted</span>}
      </h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard */}
      <pre class="code" tabIndex={0}>
        {lines?.map(({ kind, text }, index) => (
          <LineOf key={`${index} ${text}`} kind={kind} text={text} />
        ))}
      </pre>
    </section>
  );
}

const SIGNS = { same: ' ', added: '+', removed: '−', left: '…' } as const;

function LineOf({ kind, text }: ChangedLine) {
  const line = `${SIGNS[kind]} ${text}`;
  if (kind === 'added') return <ins>{line}</ins>;
  if (kind === 'removed') return <del>{line}</del>;
  return <span class={kind === 'left' ? 'line muted' : 'line'}>{line}</span>;
}
