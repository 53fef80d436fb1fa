/** A document as a form of fields. Every change goes into the source at once; what is not touched stays as it is written there. */
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { Icon } from '../../components/icon.tsx';
import { moved, type Path, withEntries, withEntry } from '../../json/edit-tree.ts';
import type { JsonTree } from '../../json/json-tree.ts';
import type { Attachment } from '../../server/document.ts';
import { whyNoWrites } from '../../server/session.ts';
import { FieldList } from './field-list.tsx';
import type { FormActions } from './form-context.ts';
import { useForm } from './form-state.ts';
import './form.css';

interface FieldFormProps {
  readonly database: string;
  readonly id: string;
  /** The source. */
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** Addresses of documents, by the ids that are in the source. */
  readonly knownIds: ReadonlyMap<string, string>;
  /** `problem`: what is wrong with a field, beyond what the text shows. */
  readonly onChange: (text: string, problem: string | undefined) => void;
  readonly onShowSource: () => void;
}

export function FieldForm(props: FieldFormProps) {
  const { database, id, text, attachments, knownIds, onChange, onShowSource } = props;
  const element = useRef<HTMLElement>(null);
  const form = useForm(text, onChange);
  const { tree } = form.content;
  const focus = useFocus(element);
  const why = whyNoWrites.value;
  const isReadOnly = why !== undefined;
  const actions = useActions(tree, form.change, focus);
  if (tree === undefined || tree.kind !== 'object')
    return (
      <div class="note form-refusal">
        <p>{form.content.why}</p>
        <button type="button" onClick={onShowSource}>
          Show the source
        </button>
      </div>
    );
  return (
    <section class="field-form" aria-label={`Fields of ${id}`} ref={element}>
      {isReadOnly && <p class="note">The fields can’t be edited now. {why}</p>}
      <FieldList
        path={[]}
        label=""
        field=""
        container={tree}
        form={{ database, id, attachments, knownIds, problems: form.problems, actions, onShowSource, isReadOnly }}
      />
      {!isReadOnly && (
        <div class="tool-row">
          <button type="button" class="quiet" disabled={form.undo === undefined} onClick={form.undo}>
            <Icon name="undo" /> Undo the last change
          </button>
        </div>
      )}
    </section>
  );
}

/** Moves the focus to a control of a field once it is there. */
function useFocus(element: { readonly current: HTMLElement | null }): (key: number, part: string) => void {
  const wanted = useRef<string | undefined>(undefined);
  useLayoutEffect(() => {
    if (wanted.current === undefined) return;
    const found = element.current?.querySelector(wanted.current) ?? element.current?.querySelector('.form-add button');
    wanted.current = undefined;
    if (found instanceof HTMLElement) found.focus();
    if (found instanceof HTMLInputElement) found.select();
  });
  return (key, part) => {
    wanted.current = `[data-key="${key}"] [data-part="${part}"]`;
  };
}

function useActions(
  tree: JsonTree | undefined,
  change: (what: string, tree: JsonTree) => void,
  focus: (key: number, part: string) => void,
): FormActions {
  // The actions are the same at each render, so a field that is not changed need not be rendered again.
  const latest = useRef({ tree, change, focus });
  latest.current = { tree, change, focus };
  return useMemo(() => {
    const apply = (what: string, next: (current: JsonTree) => JsonTree) => {
      const { tree: current, change: store } = latest.current;
      if (current !== undefined) store(what, next(current));
    };
    return {
      set: (path, value) => apply(`value ${path}`, (now) => withEntry(now, path, (entry) => ({ ...entry, value }))),
      convert: (path, value) =>
        apply(`type ${path} ${value.kind}`, (now) => withEntry(now, path, (entry) => ({ ...entry, value }))),
      rename: (path, name) =>
        apply(`name ${path}`, (now) => withEntry(now, path, (entry) => ({ ...entry, nameText: JSON.stringify(name) }))),
      remove: (path, next) => {
        if (next !== undefined) latest.current.focus(next, 'more');
        apply('', (now) => withEntry(now, path, () => undefined));
      },
      move: (path, by) => {
        latest.current.focus(keyOf(path), by === 1 ? 'down' : 'up');
        apply('', (now) => moved(now, path, by));
      },
      add: (path, entry) => {
        latest.current.focus(entry.key, entry.nameText === '' ? 'value' : 'name');
        apply('', (now) => withEntries(now, path, (entries) => [...entries, entry]));
      },
    };
  }, []);
}

function keyOf(path: Path): number {
  return path.at(-1) ?? 0;
}
