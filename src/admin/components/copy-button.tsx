import { useState } from 'preact/hooks';
import { Icon } from './icon.tsx';

/** Copies the text to the clipboard, and says so for a moment. */
export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const [said, setSaid] = useState<string | undefined>(undefined);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('Copied');
    } catch {
      setSaid('The browser does not permit it');
    }
    setTimeout(() => setSaid(undefined), 2_000);
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      <Icon name="copy" />
      <span aria-live="polite">{said ?? label}</span>
    </button>
  );
}
