import type { ComponentChildren } from 'preact';

/** Shown instead of a part that this server does not support. */
export function Absent({ children }: { readonly children: ComponentChildren }) {
  return <p class="note absent">{children}</p>;
}
