/** The frame of the page: the menu, and the screen that the address names. */
import { useEffect, useState } from 'preact/hooks';
import { ErrorNote } from './components/error-note.tsx';
import { Icon } from './components/icon.tsx';
import { KeySheet } from './components/key-sheet.tsx';
import { useLoaded } from './components/load.ts';
import { Menu } from './menu/menu.tsx';
import { route } from './page/router.ts';
import { ReviewDialog } from './review/review.tsx';
import { Screen } from './screens.tsx';
import { isReachable } from './server/client.ts';
import { isInThisBrowser } from './server/host.ts';
import { isAdminParty, loadServer, loadSession, server } from './server/session.ts';
import { StagingBar } from './staging/staging-bar.tsx';

/** How often the page asks for a server that went away. */
const AGAIN_MS = 3_000;

export function App() {
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isReady, setReady] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const load = () => {
    setFailure(undefined);
    Promise.all([loadServer(), loadSession()]).then(() => setReady(true), setFailure);
  };
  useEffect(load, []);
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
        {isAdminParty.value && server.value?.isSettee === true && <AdminParty />}
        {isReady && <Screen key={screenKey()} />}
        <StagingBar />
      </main>
      <ReviewDialog />
      <KeySheet />
    </>
  );
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
      <Icon name="warning" /> The server does not respond. What you see is from before; the page asks again every three
      seconds.
    </p>
  );
}

/** Not for the database of an app in this browser: no one else reaches that. */
function AdminParty() {
  const { value: isHere } = useLoaded(isInThisBrowser, []);
  if (isHere !== false) return null;
  return (
    <p class="banner warn" role="status">
      <Icon name="warning" /> This server has no admin: anyone who reaches it may do anything.{' '}
      <a href="#/users">Create the first admin</a>.
    </p>
  );
}
