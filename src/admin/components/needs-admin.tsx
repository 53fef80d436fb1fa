import { whoText } from '../server/refusals.ts';
import { session } from '../server/session.ts';
import { LogInLink } from './error-note.tsx';
import { Icon } from './icon.tsx';

interface NeedsAdminProps {
  /** What only admins can see, such as `the settings of the server`. */
  readonly what: string;
  /** What can be done without being one. */
  readonly otherwise?: string;
}

/** Shown instead of what only admins can see: says which right is missing, and how to get it. */
export function NeedsAdmin({ what, otherwise }: NeedsAdminProps) {
  return (
    <div class="note advice">
      <Icon name="lock" />
      <div>
        <p>
          <strong>Only admins can see {what}.</strong> {whoText(session.value)} Log in as an admin, or ask one for the
          role <code>_admin</code>. {otherwise}
        </p>
      </div>
      <LogInLink />
    </div>
  );
}
