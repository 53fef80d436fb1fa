import type { ComponentChildren } from 'preact';
import { whyNoDatabaseAdmin } from '../server/rights.ts';
import { whyNoAdmin, whyNoWrites } from '../server/session.ts';

interface WriteButtonProps {
  readonly onClick?: () => void;
  readonly children: ComponentChildren;
  /** Only admins may do it. */
  readonly needsAdmin?: boolean;
  /** Only admins of this database may do it. */
  readonly adminOf?: string | undefined;
  /** Another reason why it can't be done now. */
  readonly why?: string | undefined;
  readonly class?: string;
  readonly type?: 'button' | 'submit';
  readonly label?: string;
  /** The id of the form that it submits, if it is outside of it. */
  readonly form?: string;
  /** Says beside the button why it is off. */
  readonly saysWhy?: boolean;
}

/** A button for what writes. It is off in read-only mode and without the rights, and says why. */
export function WriteButton({
  onClick,
  children,
  needsAdmin = false,
  adminOf,
  why,
  class: name,
  type = 'button',
  label,
  form,
  saysWhy = false,
}: WriteButtonProps) {
  const rights = adminOf === undefined ? undefined : whyNoDatabaseAdmin(adminOf);
  const reason = (needsAdmin ? whyNoAdmin : whyNoWrites).value ?? rights ?? why;
  const button = (
    <button
      type={type}
      form={form}
      class={name}
      aria-label={label}
      // Not `disabled`: the reason must be reachable by keyboard and by touch.
      aria-disabled={reason !== undefined}
      title={reason}
      onClick={(event) => {
        if (reason === undefined) return onClick?.();
        event.preventDefault();
        return undefined;
      }}
    >
      {children}
    </button>
  );
  if (!saysWhy) return button;
  return (
    <>
      <span class="muted why-off" role="status">
        {reason}
      </span>
      {button}
    </>
  );
}
