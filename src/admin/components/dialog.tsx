import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Icon } from './icon.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** The buttons at the lower edge. */
  readonly actions?: ComponentChildren;
  readonly isWide?: boolean;
  /** The id of what screen readers say when it opens. */
  readonly describedBy?: string;
}

/** The first field; without one the button that does what the dialog is about. */
const FIRST = [
  '.dialog-body :is(input, select, textarea):not(:disabled, [type=hidden])',
  'footer :is(.primary, .danger)',
] as const;

/**
 * A modal dialog. Escape and the close button call `onClose`; the page behind it can't be used. It opens with the focus in its first field, or
 * on the button at its lower edge that does what it is about, so that Enter does it.
 */
export function Dialog({ title, onClose, children, actions, isWide = false, describedBy }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const opener = document.activeElement;
    const dialog = element.current;
    dialog?.showModal();
    const [field, button] = FIRST.map((selector) => dialog?.querySelector<HTMLElement>(selector));
    (field ?? button)?.focus();
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={isWide ? 'dialog wide' : 'dialog'}
      aria-labelledby={titleId}
      aria-describedby={describedBy}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onKeyDown={(event) => {
        // The key that has opened the dialog, and is still held down, does not do what the dialog asks about.
        const isControl = event.target instanceof Element && event.target.matches('button, input');
        if (event.key === 'Enter' && event.repeat && isControl) event.preventDefault();
      }}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="dialog-body">{children}</div>
      {actions !== undefined && <footer>{actions}</footer>}
    </dialog>
  );
}
