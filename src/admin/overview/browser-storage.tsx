/** How much the browser lets this origin store, and whether it may throw it away. Only if the browser itself holds the databases. */
import { useState } from 'preact/hooks';
import { formatBytes } from '../components/format.ts';
import { useLoaded } from '../components/load.ts';
import { isInThisBrowser } from '../server/host.ts';

export function BrowserStorage() {
  const [refused, setRefused] = useState(false);
  const { value, reload } = useLoaded(readStorage, []);
  if (value === undefined) return null;
  const { usage, quota, isPersistent } = value;
  const persist = async () => {
    setRefused(!(await navigator.storage.persist()));
    reload();
  };
  return (
    <p class="note">
      This browser stores {formatBytes(usage)} of at most {formatBytes(quota)} for this site.{' '}
      {isPersistent ? (
        'It keeps the data until you delete them.'
      ) : (
        <>
          It may delete the data when the disk is full.{' '}
          <button type="button" onClick={() => void persist()}>
            Keep them
          </button>
        </>
      )}
      {refused && ' The browser refused: install the app or allow notifications, then try again.'}
    </p>
  );
}

async function readStorage() {
  if (!(await isInThisBrowser())) return undefined;
  const [{ usage = 0, quota = 0 }, isPersistent] = await Promise.all([
    navigator.storage.estimate(),
    navigator.storage.persisted(),
  ]);
  return { usage, quota, isPersistent };
}
