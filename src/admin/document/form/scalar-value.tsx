/** The control for a text, a number, or true or false. */
import { useState } from 'preact/hooks';
import { formatBytes, formatCount } from '../../components/format.ts';
import type { Path } from '../../json/edit-tree.ts';
import { type JsonEntry, stringOf } from '../../json/json-tree.ts';
import { Markdown } from '../markdown/markdown.tsx';
import { roundedNumber } from './field-problems.ts';
import type { FormContext } from './form-context.ts';
import { GrowingText } from './growing-text.tsx';
import { isMarkdown } from './markdown-choice.ts';

interface ScalarValueProps {
  readonly path: Path;
  readonly label: string;
  readonly field: string;
  readonly entry: JsonEntry;
  readonly form: FormContext;
  /** The element that says what is wrong. */
  readonly errorId: string;
}

export function ScalarValue(props: ScalarValueProps) {
  const { path, label, entry, form } = props;
  switch (entry.value.kind) {
    case 'string':
      return <Text {...props} text={stringOf(entry.value.text)} />;
    case 'number':
      return <NumberInput {...props} text={entry.value.text} />;
    case 'boolean': {
      const isTrue = entry.value.text === 'true';
      return (
        <label class="switch">
          <input
            type="checkbox"
            role="switch"
            data-part="value"
            aria-label={label}
            aria-checked={isTrue}
            checked={isTrue}
            disabled={form.isReadOnly}
            onChange={({ currentTarget }) =>
              form.actions.set(path, { kind: 'boolean', text: `${currentTarget.checked}` })
            }
          />
          {entry.value.text}
        </label>
      );
    }
    default:
      return <span class="muted form-null">null</span>;
  }
}

function NumberInput({ path, label, entry, form, errorId, text }: ScalarValueProps & { readonly text: string }) {
  const isWrong = form.problems.get(entry.key)?.value !== undefined;
  const rounded = roundedNumber(text);
  return (
    <>
      <input
        class="form-number"
        data-part="value"
        aria-label={label}
        aria-invalid={isWrong}
        aria-describedby={isWrong ? errorId : undefined}
        inputMode="decimal"
        autocomplete="off"
        value={text}
        readOnly={form.isReadOnly}
        onInput={(event) => form.actions.set(path, { kind: 'number', text: event.currentTarget.value })}
      />
      {rounded !== undefined && <p class="muted">Stored digit for digit, but programs in JavaScript read {rounded}.</p>}
    </>
  );
}

/** Characters: a longer text is edited only when it is asked for. */
const LONG = 50_000;
const DATA_IMAGE = /^data:image\/(?:png|jpeg|gif|webp|avif|bmp|x-icon|svg\+xml)[;,]/i;

function Text(props: ScalarValueProps & { readonly text: string }) {
  const { text, label, form } = props;
  const [isWanted, setWanted] = useState(false);
  if (/\r|\p{Cs}|\0/u.test(text))
    return (
      <>
        <code class="form-raw">{text.slice(0, 2_000)}</code>
        <p class="muted">
          This text has characters that a text field would change, such as carriage returns.{' '}
          <button type="button" onClick={form.onShowSource}>
            Edit it in the source
          </button>
        </p>
      </>
    );
  if (DATA_IMAGE.test(text) && !isWanted) return <DataImage {...props} onText={() => setWanted(true)} />;
  if (text.length > LONG && !isWanted)
    return (
      <>
        <code class="form-raw">{text.slice(0, 300)} …</code>
        <p>
          <button type="button" aria-label={`Edit all of ${label}`} onClick={() => setWanted(true)}>
            Edit all {formatCount(text.length)} characters
          </button>
        </p>
      </>
    );
  return <EditedText {...props} />;
}

function EditedText({ path, label, field, entry, form, text, errorId }: ScalarValueProps & { readonly text: string }) {
  const href = form.knownIds.get(text);
  const isPreviewed = text.length > 0 && isMarkdown(form.database, field, text);
  return (
    <div class={isPreviewed ? 'form-text previewed' : 'form-text'}>
      <GrowingText
        label={label}
        value={text}
        isReadOnly={form.isReadOnly}
        describedBy={form.problems.has(entry.key) ? errorId : undefined}
        onInput={(value) => {
          if (value !== text) form.actions.set(path, { kind: 'string', text: JSON.stringify(value) });
        }}
      />
      {href !== undefined && (
        <a class="form-link" href={href}>
          Open {text}
        </a>
      )}
      {isPreviewed && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard
        <section class="form-preview" aria-label={`Preview of ${label}`} tabIndex={0}>
          <Markdown
            text={text}
            database={form.database}
            id={form.id}
            attachments={form.attachments}
            knownIds={form.knownIds}
          />
        </section>
      )}
    </div>
  );
}

function DataImage({
  path,
  label,
  form,
  text,
  onText,
}: ScalarValueProps & { readonly text: string; readonly onText: () => void }) {
  const replace = (file: File | undefined) => {
    if (file === undefined) return;
    const reader = new FileReader();
    reader.onload = () => form.actions.set(path, { kind: 'string', text: JSON.stringify(`${reader.result}`) });
    reader.readAsDataURL(file);
  };
  return (
    <figure class="form-image">
      <img src={text} alt={`Content of ${label}`} />
      <figcaption>
        <span class="muted">
          {/^data:([^;,]+)/i.exec(text)?.[1]} · {formatBytes(Math.round((text.length * 3) / 4))}
        </span>
        <label class="button">
          Replace
          <input
            class="hidden"
            type="file"
            accept="image/*"
            aria-label={`Replace ${label}`}
            disabled={form.isReadOnly}
            onChange={({ currentTarget }) => replace(currentTarget.files?.[0])}
          />
        </label>
        <button type="button" onClick={onText}>
          Edit as text
        </button>
      </figcaption>
    </figure>
  );
}
