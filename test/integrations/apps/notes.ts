import { start } from 'settee';
import { database } from 'settee/database';

export interface Note {
  text: string;
  list: string;
}

const { fetch } = await start({ base: '/db/', waitFor: 'database' });

/** Each page has a database of its own. */
export const notes = database<Note>(
  fetch,
  `/db${location.pathname.replace(/\W/g, '_').replace(/^_/, '/').toLowerCase()}`,
);
await notes.create();

/** For the test. */
Reflect.set(window, 'notes', notes);
