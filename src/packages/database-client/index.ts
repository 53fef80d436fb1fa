/**
 * `settee/database`: types for every JSON shape of the interface, a thin typed helper over `fetch`, and sync with a server:
 *
 *     const notes = database<Note>(fetch, '/db/notes');
 *     const notesSync = sync(notes, 'https://app.example/db/notes');
 */
export type * from '../interface/documents.ts';
export type * from '../interface/lists.ts';
export type * from '../interface/replication.ts';
export type * from '../interface/selectors.ts';
export type * from '../interface/server.ts';
export type * from './contract.ts';
export { database } from './database.ts';
export { SetteeError } from './requests.ts';
export type * from './sync/contract.ts';
export { sync } from './sync/sync.ts';
