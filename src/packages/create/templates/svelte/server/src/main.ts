import { mount } from 'svelte';
import { open } from './database';
import LogIn from './LogIn.svelte';
import SessionView from './SessionView.svelte';
import { showFailure } from './settee';

const target = document.getElementById('app') as HTMLElement;
try {
  const session = await open();
  if (session) mount(SessionView, { target, props: { session } });
  else mount(LogIn, { target, props: { done: () => location.reload() } });
} catch (error) {
  showFailure(error);
}
