import { render } from 'solid-js/web';
import { open } from './database';
import { LogIn } from './LogIn';
import { SessionView } from './SessionView';
import { showFailure } from './settee';

try {
  const session = await open();
  render(
    () => (session ? <SessionView session={session} /> : <LogIn done={() => location.reload()} />),
    document.getElementById('app') as HTMLElement,
  );
} catch (error) {
  showFailure(error);
}
