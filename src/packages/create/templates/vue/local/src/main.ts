import { createApp } from 'vue';
import { open } from './database';
import NoteList from './NoteList.vue';
import { showFailure } from './settee';

try {
  createApp(NoteList, { notes: await open() }).mount('#app');
} catch (error) {
  showFailure(error);
}
