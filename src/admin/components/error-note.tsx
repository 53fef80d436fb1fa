import { ServerError } from '../server/client.ts';
import { Icon } from './icon.tsx';

/** A failure, whole, where it happened. It stays until what failed is tried again. */
export function ErrorNote({
  failure,
  retry,
}: {
  readonly failure: unknown;
  readonly retry?: (() => void) | undefined;
}) {
  if (failure === undefined) return null;
  return (
    <div class="error-note" role="alert">
      <Icon name="warning" />
      <div>
        <ErrorText failure={failure} />
      </div>
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

function ErrorText({ failure }: { readonly failure: unknown }) {
  if (!(failure instanceof ServerError)) return <p>{failure instanceof Error ? failure.message : `${failure}`}</p>;
  const { status, code, reason, request } = failure;
  return (
    <>
      <p>{reason}</p>
      <p class="detail">
        {status === 0 ? code : `${status} ${code}`} · <code>{`${request.method} /${request.path}`}</code>
      </p>
      {status === 401 && (
        <p>
          <a href="#/login">Log in</a> as a user who may do this.
        </p>
      )}
    </>
  );
}
