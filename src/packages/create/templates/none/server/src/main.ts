import { open } from './database';
import { showFailure } from './settee';
import { showLogIn } from './show-log-in';
import { find } from './show-notes';
import { showSession } from './show-session';

const app = find(document, '#app');
try {
  const session = await open();
  if (session) await showSession(session, app);
  else showLogIn(app, '', () => location.reload());
} catch (error) {
  showFailure(error);
}
