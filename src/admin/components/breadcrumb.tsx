import { Icon } from './icon.tsx';

interface BreadcrumbProps {
  /** The screens above this one, the outermost first. */
  readonly above: readonly { readonly label: string; readonly href: string }[];
}

/** The way to a screen, before its heading. */
export function Breadcrumb({ above }: BreadcrumbProps) {
  return (
    <nav class="breadcrumb" aria-label="Where you are">
      {above.map(({ label, href }) => (
        <span key={href}>
          <a href={href}>{label}</a>
          <Icon name="right" />
        </span>
      ))}
    </nav>
  );
}
