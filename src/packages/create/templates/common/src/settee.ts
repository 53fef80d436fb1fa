/** Starts the database of this browser. */
import { type Settee, start } from 'settee';

export async function startSettee(): Promise<Settee> {
  const settee = await start({ base: '/db/' });
  settee.addEventListener('update', () => offerUpdate(settee));
  return settee;
}

/** A new version of the app waits until this page lets it take over. */
function offerUpdate(settee: Settee): void {
  const button = Object.assign(document.createElement('button'), { textContent: 'Use it' });
  button.addEventListener('click', async () => {
    if (await settee.update()) location.reload();
  });
  document.getElementById('update')?.replaceChildren('There is a new version. ', button);
}

/** The app can't begin: `start` says why, and what to do about it. */
export function showFailure(error: unknown): void {
  const text = `The app can’t start. ${error instanceof Error ? error.message : error}`;
  const message = Object.assign(document.createElement('p'), { className: 'failure', textContent: text });
  message.setAttribute('role', 'alert');
  document.getElementById('app')?.replaceChildren(message);
}
