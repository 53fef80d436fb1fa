import { Icon } from './icon.tsx';

interface BreadcrumbProps {
  /** Names the landmark: one screen can have two of them. */
  readonly label?: string;
  /** The screens above this one, the outermost first. */
  readonly above: readonly { readonly label: string; readonly href: string }[];
}

/** The way to a screen, before its heading. */
export function Breadcrumb({ label: name = 'Where you are', above }: BreadcrumbProps) {
  return (
    <nav class="breadcrumb" aria-label={name}>
      {above.map(({ label, href }) => (
        <span key={href}>
          <a href={href}>{label}</a>
          <Icon name="right" />
        </span>
      ))}
    </nav>
  );
}
