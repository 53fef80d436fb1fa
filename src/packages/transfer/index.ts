/**
 * `settee/transfer`: a database as JSON lines, out of a page and into one.
 *
 *     await exportDatabase(fetch, '/db/notes').pipeTo(file);
 *     await importDatabase(fetch, '/db/notes', input.files[0]);
 */
export type * from './contract.ts';
export { exportDatabase } from './export-database.ts';
export { importDatabase } from './import-database.ts';
