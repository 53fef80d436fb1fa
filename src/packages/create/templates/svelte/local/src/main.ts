import { mount } from 'svelte';
import { open } from './database';
import NoteList from './NoteList.svelte';
import { showFailure } from './settee';

const target = document.getElementById('app') as HTMLElement;
try {
  mount(NoteList, { target, props: { notes: await open() } });
} catch (error) {
  showFailure(error);
}
