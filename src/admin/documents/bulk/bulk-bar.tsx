/** What can be done with the selected documents. */
import { useMemo, useState } from 'preact/hooks';
import { CopyButton } from '../../components/copy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { formatCount, formatMany } from '../../components/format.ts';
import { WriteButton } from '../../components/write-button.tsx';
import type { ListSettings } from '../list-state.ts';
import { countOf } from '../selection.ts';
import type { List } from '../use-list.ts';
import type { Selecting } from '../use-selection.ts';
import type { BulkChange } from './change.ts';
import { ChangeDialog, type ChangeForm } from './change-dialog.tsx';
import { exportSelection, selectedIds } from './export-selection.ts';
import { DESIGN_SWITCH, reviewBulk } from './review-bulk.ts';
import { isDesign } from './targets.ts';
import { task } from './task.ts';

interface BulkBarProps {
  readonly database: string;
  readonly settings: ListSettings;
  readonly list: List;
  readonly selecting: Selecting;
}

export function BulkBar({ database, settings, list, selecting }: BulkBarProps) {
  const [form, setForm] = useState<ChangeForm | undefined>(undefined);
  const [ids, setIds] = useState<string | undefined>(undefined);
  const isDeleted = settings.filter.value.kind === 'deleted';
  const wish = { database, settings, list };
  const selection = settings.selection.value;
  const mayHaveDesign = useMemo(() => selection.isInverse || [...selection.ids].some(isDesign), [selection]);
  const begin = (change: BulkChange) => {
    setForm(undefined);
    void reviewBulk({ ...wish, change });
  };
  const running = task.value?.database === database ? task.value : undefined;
  const why = running === undefined ? undefined : 'Something else is being prepared.';
  return (
    <aside class="bulk-bar" aria-label="Selected documents">
      <div class="tool-row">
        <strong role="status">{selectedText(settings, list)}</strong>
        {!selection.isInverse && (
          <button type="button" onClick={selecting.selectAll}>
            Select all that match
          </button>
        )}
        <button type="button" onClick={selecting.selectNone}>
          Select none
        </button>
        {!isDeleted && mayHaveDesign && (
          <label class="switch">
            <input
              type="checkbox"
              checked={settings.changesDesign.value}
              onChange={({ currentTarget }) => {
                settings.changesDesign.value = currentTarget.checked;
              }}
            />
            {DESIGN_SWITCH}
          </label>
        )}
      </div>
      <div class="bulk-actions">
        {!isDeleted && <ChangeButtons why={why} onForm={setForm} onDelete={() => begin({ kind: 'delete' })} />}
        {!isDeleted && (
          <button type="button" disabled={running !== undefined} onClick={() => void exportSelection(wish)}>
            Export
          </button>
        )}
        <button type="button" disabled={running !== undefined} onClick={() => void selectedIds(wish, setIds)}>
          Copy ids
        </button>
      </div>
      {form !== undefined && <ChangeDialog form={form} onClose={() => setForm(undefined)} onChange={begin} />}
      {ids !== undefined && <IdsDialog text={ids} onClose={() => setIds(undefined)} />}
    </aside>
  );
}

function selectedText({ selection }: ListSettings, list: List): string {
  const count = countOf(selection.value, list.total);
  const of = list.total === undefined ? '' : ` of ${formatCount(list.total)}`;
  if (count !== undefined) return `${formatCount(count)}${of} selected`;
  const { size } = selection.value.ids;
  return size === 0 ? 'All that match are selected' : `All that match are selected, except ${formatCount(size)}`;
}

interface ChangeButtonsProps {
  readonly why: string | undefined;
  readonly onForm: (form: ChangeForm) => void;
  readonly onDelete: () => void;
}

function ChangeButtons({ why, onForm, onDelete }: ChangeButtonsProps) {
  return (
    <>
      <WriteButton why={why} onClick={() => onForm('set')}>
        Set a field
      </WriteButton>
      <WriteButton why={why} onClick={() => onForm('remove')}>
        Remove a field
      </WriteButton>
      <WriteButton why={why} onClick={() => onForm('patch')}>
        Change by JSON
      </WriteButton>
      <WriteButton why={why} onClick={onDelete}>
        Delete
      </WriteButton>
    </>
  );
}

/** Ids that are shown: a text field with all of a million would stop the page. */
const SHOWN = 1_000;

function IdsDialog({ text, onClose }: { readonly text: string; readonly onClose: () => void }) {
  const ids = text.split('\n');
  return (
    <Dialog
      title={`${formatMany(ids.length, 'id')}, one a line`}
      onClose={onClose}
      actions={<CopyButton text={text} />}
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard */}
      <pre class="code" tabIndex={0}>
        {ids.slice(0, SHOWN).join('\n')}
      </pre>
      {ids.length > SHOWN && <p class="muted">The first {formatCount(SHOWN)} are shown; all are copied.</p>}
    </Dialog>
  );
}
