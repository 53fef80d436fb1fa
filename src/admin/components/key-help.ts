/** Which keys work where: what is on the screen says so, and the sheet of keys lists it. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

export interface KeyHelp {
  /** As they are written on keyboards: `Ctrl+S`. */
  readonly keys: string;
  readonly does: string;
}

export interface KeyGroup {
  readonly title: string;
  readonly keys: readonly KeyHelp[];
}

/** The title of keys that work on every screen. */
export const EVERYWHERE_TITLE = 'Everywhere';

/** In the order in which they appeared. */
export const keyGroups = signal<readonly KeyGroup[]>([]);

const KEY = 'settee-utils/single-keys';

/** Keys of one character do something outside of fields and lists. They disturb those who speak to their computer, who switch them off. */
export const hasSingleKeys = signal(localStorage.getItem(KEY) !== 'false');

export function setSingleKeys(value: boolean): void {
  hasSingleKeys.value = value;
  localStorage.setItem(KEY, `${value}`);
}

/** Lists the keys while the component is on the screen. `keys` must not change. */
export function useKeyHelp(title: string, keys: readonly KeyHelp[]): void {
  useEffect(() => {
    const group = { title, keys };
    keyGroups.value = [...keyGroups.value, group];
    return () => {
      keyGroups.value = keyGroups.value.filter((one) => one !== group);
    };
  }, [title, keys]);
}

/** Does something at a key of one character, unless it is typed into a field or a dialog is open. */
export function useSingleKey(key: string, act: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== key || event.ctrlKey || event.metaKey || event.altKey || !hasSingleKeys.value) return;
      if (isTyping(event) || document.querySelector('dialog[open]') !== null) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
}

/** Editors are in shadow trees, so the event's own target is only their frame. */
function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches('textarea, select, input:not([type=checkbox], [type=radio])');
}
