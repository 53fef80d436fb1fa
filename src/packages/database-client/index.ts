/**
 * `settee/database`: types for every JSON shape of the interface, and a thin typed helper over `fetch`:
 *
 *     const notes = database<Note>(fetch, '/db/notes');
 */
export type * from '../interface/documents.ts';
export type * from '../interface/lists.ts';
export type * from '../interface/replication.ts';
export type * from '../interface/selectors.ts';
export type * from '../interface/server.ts';
export type * from './contract.ts';
export { database } from './database.ts';
export { SetteeError } from './requests.ts';
