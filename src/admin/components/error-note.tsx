import { useEffect, useRef } from 'preact/hooks';
import { logInAddress } from '../page/router.ts';
import { isReachable, ServerError } from '../server/client.ts';
import { type Advice, adviceOf } from '../server/refusals.ts';
import { server, session } from '../server/session.ts';
import { isBrowser } from '../server/where.ts';
import { Icon } from './icon.tsx';

interface ErrorNoteProps {
  readonly failure: unknown;
  readonly retry?: (() => void) | undefined;
}

/** A failure, whole, where it happened. It stays until what failed is tried again, which happens by itself when a lost server is back. */
export function ErrorNote({ failure, retry }: ErrorNoteProps) {
  if (failure === undefined) return null;
  const isLost = failure instanceof ServerError && failure.status === 0;
  if (isLost && retry !== undefined) return <Waiting retry={retry} />;
  const advice =
    failure instanceof ServerError ? adviceOf(failure, session.value, server.value?.isSettee === true) : undefined;
  if (failure instanceof ServerError && advice !== undefined) return <AdviceNote failure={failure} advice={advice} />;
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

/** The band at the upper edge says that the server does not respond. */
function Waiting({ retry }: { readonly retry: () => void }) {
  const latest = useRef(retry);
  latest.current = retry;
  useEffect(() => {
    let wasLost = !isReachable.peek();
    return isReachable.subscribe((isBack) => {
      if (!isBack) wasLost = true;
      else if (wasLost) latest.current();
    });
  }, []);
  return (
    <div class="note waiting" role="status">
      <p>This is loaded by itself as soon as {isBrowser.value ? 'the database' : 'the server'} responds again.</p>
      <button type="button" onClick={retry}>
        Try now
      </button>
    </div>
  );
}

function ErrorText({ failure }: { readonly failure: unknown }) {
  if (!(failure instanceof ServerError)) return <p>{failure instanceof Error ? failure.message : `${failure}`}</p>;
  return (
    <>
      <p>{failure.reason}</p>
      <Detail failure={failure} />
    </>
  );
}

function Detail({ failure: { status, code, request } }: { readonly failure: ServerError }) {
  return (
    <p class="detail">
      {status === 0 ? code : `${status} ${code}`} · <code>{`${request.method} /${request.path}`}</code>
    </p>
  );
}

/** What the user lacks, and how to get it. What the server said is a click away. */
function AdviceNote({ failure, advice }: { readonly failure: ServerError; readonly advice: Advice }) {
  const { title, advice: text, isAboutRights } = advice;
  return (
    <div class="note advice" role="alert">
      <Icon name={isAboutRights ? 'lock' : 'warning'} />
      <div>
        <p>
          <strong>{title}</strong> {text}
        </p>
        <details>
          <summary>What {isBrowser.value ? 'the database' : 'the server'} said</summary>
          <p>{failure.reason}</p>
          <Detail failure={failure} />
        </details>
      </div>
      {isAboutRights && <LogInLink />}
    </div>
  );
}

/** Leads back to this screen afterwards. */
export function LogInLink() {
  if (!session.value.hasAccounts) return null;
  return (
    <a class="button" href={logInAddress()}>
      {session.value.name === null ? 'Log in' : 'Log in as somebody else'}
    </a>
  );
}
