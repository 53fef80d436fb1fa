import { render } from 'solid-js/web';
import { open } from './database';
import { NoteList } from './NoteList';
import { showFailure } from './settee';

try {
  const notes = await open();
  render(() => <NoteList notes={notes} />, document.getElementById('app') as HTMLElement);
} catch (error) {
  showFailure(error);
}
