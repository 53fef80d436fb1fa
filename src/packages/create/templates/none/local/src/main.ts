import { open } from './database';
import { showFailure } from './settee';
import { find, showNotes } from './show-notes';

try {
  await showNotes(await open(), find(document, '#app'));
} catch (error) {
  showFailure(error);
}
