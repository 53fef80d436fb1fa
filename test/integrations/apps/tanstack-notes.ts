import { database } from 'settee/database';
import { setteeCollectionOptions } from 'settee/tanstack';
import { type Note, notes } from './notes.ts';

/** The test sets this: what happens before a document is written. */
declare global {
  interface Window {
    beforeWrite?: (() => Promise<unknown>) | undefined;
  }
}

async function before(method: string): Promise<void> {
  const work = method === 'PUT' ? window.beforeWrite : undefined;
  window.beforeWrite = undefined;
  await work?.();
}

const held = database<Note>(async (address, init) => {
  await before(init.method);
  return notes.fetch(address, init);
}, notes.address);

export const options = setteeCollectionOptions({
  database: held,
  onConflict: ({ stored, modified }) => stored && { ...stored, text: `${stored.text} & ${modified.text}` },
});

/** What a page shows of a note. */
export function shown({ text, _rev }: { text: string; _rev?: string | undefined }): string {
  return `${text} ${_rev?.split('-')[0] ?? 'new'}`;
}
