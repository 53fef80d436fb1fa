import type { ComponentChildren } from 'preact';

/** In the place of what this server lacks. */
export function Absent({ children }: { readonly children: ComponentChildren }) {
  return <p class="note absent">{children}</p>;
}
