import { createApp } from 'vue';
import { open } from './database';
import LogIn from './LogIn.vue';
import SessionView from './SessionView.vue';
import { showFailure } from './settee';

try {
  const session = await open();
  const app = session ? createApp(SessionView, { session }) : createApp(LogIn, { onDone: () => location.reload() });
  app.mount('#app');
} catch (error) {
  showFailure(error);
}
