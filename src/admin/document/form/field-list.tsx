/** The fields of an object, or the items of a list. */
import { useState } from 'preact/hooks';
import { formatCount, formatMany } from '../../components/format.ts';
import { Icon } from '../../components/icon.tsx';
import { newItem, newMember, type Path } from '../../json/edit-tree.ts';
import { isContainer, type JsonContainer, type JsonEntry, nameOf } from '../../json/json-tree.ts';
import { FieldRow } from './field-row.tsx';
import type { FormContext, Place } from './form-context.ts';

interface FieldListProps {
  readonly path: Path;
  /** Of the container: `address`, `tags[0]`. Empty: the document. */
  readonly label: string;
  /** The same without numbers of items: `tags[]`. */
  readonly field: string;
  readonly container: JsonContainer;
  readonly form: FormContext;
}

/** Fields that are shown at once. */
const PORTION = 100;

export function FieldList({ path, label, field, container, form }: FieldListProps) {
  const { kind, entries } = container;
  const [most, setMost] = useState(PORTION);
  const add = () => {
    setMost(Math.max(most, entries.length + 1));
    form.actions.add(path, kind === 'object' ? newMember(entries) : newItem(entries));
  };
  const isLong = entries.length > most;
  return (
    <div class={path.length === 0 ? 'form-list' : 'form-list nested'}>
      <ul>
        {entries.slice(0, most).map((entry, at) => (
          <Entry
            key={entry.key}
            place={placeOf(entries, at)}
            path={[...path, entry.key]}
            label={kind === 'object' ? joined(label, nameOf(entry)) : `${label}[${at}]`}
            field={kind === 'object' ? joined(field, nameOf(entry)) : `${field}[]`}
            kind={kind}
            entry={entry}
            form={form}
          />
        ))}
      </ul>
      <div class="tool-row form-add">
        {isLong && (
          <button type="button" onClick={() => setMost(most * 3)}>
            Show more: {formatCount(entries.length - most)} are not shown
          </button>
        )}
        {!form.isReadOnly && (
          <button type="button" class="quiet" onClick={add} aria-label={addLabel(kind, label)}>
            <Icon name="plus" /> {kind === 'object' ? 'Add a field' : 'Add an item'}
          </button>
        )}
      </div>
    </div>
  );
}

function placeOf(entries: readonly JsonEntry[], at: number): Place {
  const [before, after] = [entries[at - 1], entries[at + 1]];
  return {
    at,
    // The id is not shown.
    isFirst: before === undefined || before.nameText === '"_id"',
    isLast: after === undefined,
    next: (after ?? before)?.key,
  };
}

function addLabel(kind: JsonContainer['kind'], label: string): string {
  const what = kind === 'object' ? 'Add a field' : 'Add an item';
  return label === '' ? what : `${what} to ${label}`;
}

function joined(label: string, name: string): string {
  return label === '' ? name : `${label}.${name}`;
}

interface EntryProps {
  readonly place: Place;
  readonly path: Path;
  readonly label: string;
  readonly field: string;
  readonly kind: JsonContainer['kind'];
  readonly entry: JsonEntry;
  readonly form: FormContext;
}

/** Containers with more entries, and those in others, are folded at first. */
const UNFOLDED = 20;

function Entry({ place, path, label, field, kind, entry, form }: EntryProps) {
  const { value } = entry;
  const [isOpen, setOpen] = useState(isContainer(value) && value.entries.length <= UNFOLDED && path.length <= 2);
  if (path.length === 1 && label === '_id') return null;
  if (path.length === 1 && label === '_attachments')
    return (
      <li class="form-field fixed" data-key={entry.key}>
        <span class="form-name">_attachments</span>
        <span class="muted">{formatMany(form.attachments.length, 'attachment')}: see below.</span>
      </li>
    );
  const row = { place, path, label, field, kind, entry, form };
  if (!isContainer(value)) return <FieldRow {...row} />;
  return (
    <FieldRow
      {...row}
      fold={
        <button
          type="button"
          class="quiet form-fold"
          data-part="value"
          aria-expanded={isOpen}
          aria-label={`${isOpen ? 'Fold' : 'Unfold'} ${label}`}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name={isOpen ? 'down' : 'right'} />
          {formatMany(value.entries.length, value.kind === 'object' ? 'field' : 'item')}
        </button>
      }
    >
      {isOpen && <FieldList path={path} label={label} field={field} container={value} form={form} />}
    </FieldRow>
  );
}
