/** The frame of the page: the menu, and the screen that the address names. */
import { useEffect, useState } from 'preact/hooks';
import { ErrorNote } from './components/error-note.tsx';
import { Icon } from './components/icon.tsx';
import { KeySheet } from './components/key-sheet.tsx';
import { Menu } from './menu/menu.tsx';
import { route } from './page/router.ts';
import { ReviewDialog } from './review/review.tsx';
import { loadAllScreens, Screen } from './screens.tsx';
import { isReachable } from './server/client.ts';
import { loadHost } from './server/host.ts';
import { isAdminParty, loadServer, loadSession, server } from './server/session.ts';
import { isBrowser } from './server/where.ts';
import { StagingBar } from './staging/staging-bar.tsx';

/** How often the page asks for a server that went away. */
const AGAIN_MS = 3_000;
/** How long after the first screen the others are loaded. */
const IDLE_MS = 300;

export function App() {
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isReady, setReady] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const load = () => {
    setFailure(undefined);
    Promise.all([loadServer(), loadSession(), loadHost()]).then(() => setReady(true), setFailure);
  };
  useEffect(load, []);
  useEffect(() => (isReady ? whenIdle(loadAllScreens) : undefined), [isReady]);
  // On a telephone the menu covers the screen that was chosen in it.
  useEffect(() => setMenuOpen(false), [route.value]);
  return (
    <>
      <button type="button" class="skip" onClick={focusMain}>
        Skip to the content
      </button>
      <header class="top-bar">
        <button
          type="button"
          class="quiet"
          aria-label="Menu"
          aria-expanded={isMenuOpen}
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          <Icon name="menu" />
        </button>
        <a href="#/" class="brand">
          Settee
        </a>
      </header>
      <Menu isOpen={isMenuOpen} />
      <main id="main" tabIndex={-1}>
        <Connection />
        <ErrorNote failure={failure} retry={load} />
        {isReady && isAdminParty.value && server.value?.isSettee === true && <AdminParty />}
        {isReady && <Screen key={screenKey()} />}
        <StagingBar />
      </main>
      <ReviewDialog />
      <KeySheet />
    </>
  );
}

/** What is in sight comes first. */
function whenIdle(work: () => void): () => void {
  const timer = setTimeout(() => ('requestIdleCallback' in globalThis ? requestIdleCallback(work) : work()), IDLE_MS);
  return () => clearTimeout(timer);
}

/** Another database is another screen; another part of the same address is not. */
function screenKey(): string {
  const { segments } = route.value;
  return segments.slice(0, 4).join('/');
}

/** A button: the address belongs to the router, so a link can't point into the page. */
function focusMain(): void {
  document.getElementById('main')?.focus();
}

function Connection() {
  useEffect(() => {
    if (isReachable.value) return undefined;
    const timer = setInterval(() => void loadSession().catch(() => undefined), AGAIN_MS);
    return () => clearInterval(timer);
  }, [isReachable.value]);
  if (isReachable.value) return null;
  return (
    <p class="banner bad" role="status">
      <Icon name="warning" /> {isBrowser.value ? 'The database in this browser' : 'The server'} does not respond. What
      you see is from before, and what you have typed stays. The page asks again every three seconds, and goes on by
      itself.
    </p>
  );
}

/** Not for the database of an app in this browser: no one else reaches that. */
function AdminParty() {
  if (isBrowser.value) return null;
  return (
    <p class="banner warn" role="status">
      <Icon name="warning" /> This server has no admin: anyone who reaches it may do anything.{' '}
      <a href="#/users">Create the first admin</a>.
    </p>
  );
}
