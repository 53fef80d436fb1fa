import { signal } from '@preact/signals';
import { Dialog } from './dialog.tsx';
import { Icon } from './icon.tsx';
import {
  EVERYWHERE_TITLE,
  hasSingleKeys,
  type KeyHelp,
  keyGroups,
  setSingleKeys,
  useKeyHelp,
  useSingleKey,
} from './key-help.ts';

const EVERYWHERE: readonly KeyHelp[] = [
  { keys: '?', does: 'show the keys' },
  { keys: 'Tab, Shift+Tab', does: 'the next control, the one before' },
  { keys: 'Esc', does: 'close a dialog' },
  { keys: 'Esc, then Tab', does: 'leave a text editor, in which Tab indents' },
];

const isOpen = signal(false);

function setOpen(value: boolean): void {
  isOpen.value = value;
}

/** The keys that work on the screen, at `?` and at a button. The page has one. */
export function KeySheet() {
  useKeyHelp(EVERYWHERE_TITLE, EVERYWHERE);
  useSingleKey('?', () => setOpen(true));
  return isOpen.value ? <Sheet onClose={() => setOpen(false)} /> : null;
}

export function KeysButton() {
  return (
    <button type="button" class="quiet" onClick={() => setOpen(true)}>
      <Icon name="keys" />
      Keys
    </button>
  );
}

function Sheet({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keys" isWide onClose={onClose}>
      <div class="key-groups">
        {[...keysByTitle()].map(([title, keys]) => (
          <section key={title} aria-label={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(({ keys: names, does }) => (
                <div key={names}>
                  <dt>
                    <kbd>{names}</kbd>
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p class="muted">On a Mac, ⌘ stands for Ctrl.</p>
      <label class="switch">
        <input
          type="checkbox"
          role="switch"
          checked={hasSingleKeys.value}
          aria-checked={hasSingleKeys.value}
          onChange={(event) => setSingleKeys(event.currentTarget.checked)}
        />
        Keys of one character, such as ? and /
      </label>
    </Dialog>
  );
}

/** What works everywhere is first. */
function keysByTitle(): ReadonlyMap<string, readonly KeyHelp[]> {
  const groups = new Map<string, readonly KeyHelp[]>([[EVERYWHERE_TITLE, []]]);
  for (const { title, keys } of keyGroups.value) groups.set(title, [...(groups.get(title) ?? []), ...keys]);
  return groups;
}
