/** The databases of the checks: each is created for one check and deleted after it, and what is left is known by its name. */
import { ask, base, pathOf, ServerError } from '../server/client.ts';
import { listDatabases } from '../server/databases.ts';

const KEY = 'settee-utils/self-test';
const NAME = /^self-test-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Those of this page that are in use. */
const used = new Set<string>();

// A tab that is closed in the middle of a check still sends its last request. Firefox loses a small share of what is sent then
// (docs/browser.md#the-last-edit-of-a-page), and a machine may lose its power: so the screen also lists what is left, and deletes it.
addEventListener('pagehide', () => {
  for (const name of used) {
    void fetch(new URL(pathOf(name), base), { method: 'DELETE', keepalive: true, credentials: 'same-origin' });
  }
});

/** Runs `work` with a new database, which is deleted afterwards, also if the work fails. Fails if it can't be created or deleted. */
export async function withScratch(work: (database: string) => Promise<void>): Promise<void> {
  const name = `self-test-${crypto.randomUUID()}`;
  remember([...remembered(), name]);
  used.add(name);
  try {
    await create(name);
    try {
      await work(name);
    } finally {
      await drop(name);
    }
  } finally {
    used.delete(name);
  }
}

async function create(name: string): Promise<void> {
  try {
    await ask('PUT', pathOf(name));
  } catch (failure) {
    // Without a response it may have been created.
    if (failure instanceof ServerError && failure.status !== 0) forget(name);
    throw failure;
  }
}

/** Deletes the database and forgets its name. */
export async function drop(name: string): Promise<void> {
  try {
    await ask('DELETE', pathOf(name));
  } catch (failure) {
    const isGone = failure instanceof ServerError && failure.status === 404;
    if (!isGone) throw failure;
  }
  forget(name);
}

function forget(name: string): void {
  remember(remembered().filter((one) => one !== name));
}

/** The databases of checks that were not deleted: all on this server, or those of this browser where the server lists none. */
export async function leftDatabases(signal: AbortSignal): Promise<readonly string[]> {
  try {
    const all = await listDatabases(signal);
    const left = all.filter((name) => NAME.test(name) && !used.has(name));
    remember(remembered().filter((name) => all.includes(name)));
    return left;
  } catch (failure) {
    if (signal.aborted) throw failure;
    return remembered().filter((name) => !used.has(name));
  }
}

/** Names that this browser has given and not deleted. */
function remembered(): readonly string[] {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(names) ? names.map(String) : [];
  } catch {
    return [];
  }
}

function remember(names: readonly string[]): void {
  if (names.length === 0) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, JSON.stringify(names));
}
