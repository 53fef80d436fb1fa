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

let settee: Settee | undefined;

/** Lets the new version take over, and shows it. */
async function update(): Promise<void> {
  if (await settee?.update()) location.reload();
}

try {
  settee = await start({
    base: '/db/',
    // The built demo has a service worker of its own, which also keeps the page itself for use without a network.
    ...(import.meta.env.PROD ? { serviceWorker: '/sw.js' } : {}),
  });
  settee.addEventListener('update', () => app.bar.offerUpdate(() => void update()));
  app.begin(settee);
} catch (error) {
  app.fail(error);
}
