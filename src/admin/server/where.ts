/** Where the databases are, in the words of the screens: on a server, or in this browser. */
import { signal } from '@preact/signals';

/** A server, until the page knows better. */
export const isBrowser = signal(false);

/** As in "a database of this server". */
export function thisServer(): string {
  return isBrowser.value ? 'this browser' : 'this server';
}

/** As in "the admins of the server"; at the beginning of a sentence with `capital`. */
export function theServer(): string {
  return isBrowser.value ? 'this browser' : 'the server';
}

/** Who needs no rights where there is no admin. In a browser only the pages of its site reach the database. */
export function anyone(): string {
  return isBrowser.value ? 'every page of this site' : 'anyone who reaches this server';
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
