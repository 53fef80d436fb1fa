/** One field: its name, its value, its type, and what can be done with it. Tab goes through them in this order. */
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { Icon } from '../../components/icon.tsx';
import { converted, type Path } from '../../json/edit-tree.ts';
import { type JsonContainer, type JsonEntry, type JsonKind, nameOf, stringOf } from '../../json/json-tree.ts';
import type { FormContext, Place } from './form-context.ts';
import { chooseMarkdown, isMarkdown } from './markdown-choice.ts';
import { ScalarValue } from './scalar-value.tsx';

interface FieldRowProps {
  readonly place: Place;
  readonly path: Path;
  readonly label: string;
  readonly field: string;
  /** Of what contains it. */
  readonly kind: JsonContainer['kind'];
  readonly entry: JsonEntry;
  readonly form: FormContext;
  /** In place of a value. */
  readonly fold?: ComponentChildren;
  /** Below the row. */
  readonly children?: ComponentChildren;
}

export function FieldRow({ place, path, label, field, kind, entry, form, fold, children }: FieldRowProps) {
  const [isMoreOpen, setMoreOpen] = useState(false);
  const errorId = useId();
  const problem = form.problems.get(entry.key);
  return (
    <li class={fold === undefined ? 'form-field' : 'form-field container'} data-key={entry.key}>
      <div class="form-row">
        <Name {...{ place, path, label, kind, entry, form }} isWrong={problem?.name !== undefined} errorId={errorId} />
        <div class="form-value">
          {fold ?? <ScalarValue path={path} label={label} field={field} entry={entry} form={form} errorId={errorId} />}
        </div>
        <TypeChoice path={path} label={label} entry={entry} form={form} />
        <button
          type="button"
          class="quiet form-more"
          data-part="more"
          aria-expanded={isMoreOpen}
          aria-label={`More about ${label}`}
          onClick={() => setMoreOpen(!isMoreOpen)}
        >
          <Icon name="more" />
        </button>
      </div>
      {problem !== undefined && (
        <p class="field-error" id={errorId}>
          {problem.name} {problem.value}
        </p>
      )}
      {isMoreOpen && <More {...{ place, path, label, field, entry, form }} />}
      {children}
    </li>
  );
}

interface NameProps extends Pick<FieldRowProps, 'place' | 'path' | 'label' | 'kind' | 'entry' | 'form'> {
  readonly isWrong: boolean;
  readonly errorId: string;
}

function Name({ place, path, label, kind, entry, form, isWrong, errorId }: NameProps) {
  if (kind === 'array') return <span class="form-name muted">{place.at}</span>;
  return (
    <input
      class="form-name"
      data-part="name"
      aria-label={`Name of ${label}`}
      aria-invalid={isWrong}
      aria-describedby={isWrong ? errorId : undefined}
      value={nameOf(entry)}
      readOnly={form.isReadOnly}
      autocomplete="off"
      autocapitalize="none"
      spellcheck={false}
      onInput={(event) => form.actions.rename(path, event.currentTarget.value)}
    />
  );
}

const TYPES: readonly (readonly [JsonKind, string])[] = [
  ['string', 'Text'],
  ['number', 'Number'],
  ['boolean', 'True or false'],
  ['null', 'Null'],
  ['array', 'List'],
  ['object', 'Object'],
];

function TypeChoice({ path, label, entry, form }: Pick<FieldRowProps, 'path' | 'label' | 'entry' | 'form'>) {
  const choose = (text: string) => {
    const kind = TYPES.find(([one]) => one === text)?.[0];
    if (kind !== undefined) form.actions.convert(path, converted(entry.value, kind));
  };
  return (
    <select
      class="form-type"
      aria-label={`Type of ${label}`}
      value={entry.value.kind}
      disabled={form.isReadOnly}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      {TYPES.map(([kind, name]) => (
        <option key={kind} value={kind}>
          {name}
        </option>
      ))}
    </select>
  );
}

function More({ place, path, label, field, entry, form }: Omit<FieldRowProps, 'kind' | 'fold' | 'children'>) {
  const { actions, database } = form;
  const shown = entry.value.kind === 'string' ? isMarkdown(database, field, stringOf(entry.value.text)) : undefined;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has borders and a legend that say nothing here
    <div class="form-actions" role="group" aria-label={`Actions for ${label}`}>
      <button
        type="button"
        data-part="up"
        disabled={form.isReadOnly || place.isFirst}
        onClick={() => actions.move(path, -1)}
      >
        Move up
      </button>
      <button
        type="button"
        data-part="down"
        disabled={form.isReadOnly || place.isLast}
        onClick={() => actions.move(path, 1)}
      >
        Move down
      </button>
      {shown !== undefined && (
        <button type="button" onClick={() => chooseMarkdown(database, field, !shown)}>
          {shown ? 'Show as plain text' : 'Show as Markdown'}
        </button>
      )}
      <button type="button" disabled={form.isReadOnly} onClick={() => actions.remove(path, place.next)}>
        Remove
      </button>
    </div>
  );
}
