/** The demo's entry: starts the database and shows the page. */
import './styles/base.css';
import './styles/list.css';
import './styles/document.css';
import './styles/browser.css';
import './styles/sync.css';
import './styles/requests.css';
import './styles/notes.css';
import { type Settee, start } from 'settee';
import { App } from './pages/app.ts';

const app = new App();
app.mount();

/** Until what the first page shows is loaded. */
const REST_MS = 5_000;

let settee: Settee | undefined;

/** Lets the new version take over, and shows it. */
async function update(): Promise<void> {
  if (await settee?.update()) location.reload();
}

/** Has the documentation and the administration page kept for use without a network, once the first page is there. */
async function keepOtherPages(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  const { active } = await navigator.serviceWorker.ready;
  active?.postMessage('keep-later');
}

try {
  settee = await start({
    base: '/db/',
    // The built demo has a service worker of its own, which also keeps the page itself for use without a network.
    ...(import.meta.env.PROD ? { serviceWorker: '/sw.js' } : {}),
  });
  settee.addEventListener('update', () => app.bar.offerUpdate(() => void update()));
  app.begin(settee);
  if (import.meta.env.PROD) void keepOtherPages();
} catch (error) {
  app.fail(error);
}
