/** Names of what requests ask for, of which there are few: spans are grouped by them. */

const WHOLE = new Set(['_design', '_local']);
/** Below a design document: how many segments behind these are names. */
const NAMED = new Map([
  ['_view', 'view'],
  ['_show', 'show'],
  ['_list', 'list'],
  ['_update', 'update'],
  ['_search', 'index'],
]);

/** Returns the pattern that a path fits, such as `/{db}/_design/{ddoc}/_view/{view}`. */
export function routeOf(path: string, database: string | null): string {
  const [first = '', ...rest] = path.split('/').filter((segment) => segment !== '');
  if (database === null) return first === '' ? '/' : `/${plain(first)}`;
  if (rest.length === 0) return '/{db}';
  return `/{db}${inDatabase(rest)}`;
}

function inDatabase([first = '', ...rest]: readonly string[]): string {
  if (!WHOLE.has(first)) {
    if (first.startsWith('_')) return `/${plain(first)}`;
    return rest.length === 0 ? '/{docid}' : '/{docid}/{attname}';
  }
  const [, below, name] = rest;
  const document = first === '_design' ? '/_design/{ddoc}' : '/_local/{docid}';
  if (below === undefined) return document;
  if (!below.startsWith('_')) return `${document}/{attname}`;
  const word = NAMED.get(below);
  return `${document}/${plain(below)}${name === undefined || word === undefined ? '' : `/{${word}}`}`;
}

/** A word that clients can't choose freely. */
function plain(word: string): string {
  return /^_?[a-z_]{1,32}$/.test(word) ? word : '{other}';
}
