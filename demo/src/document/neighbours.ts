/** The countries that a country borders on: its document has their codes, and a selector query finds their names. */
import type { Database, Found } from '../data/database.ts';
import { countryHash, nameOf } from '../data/datasets.ts';
import { fill, make } from '../elements/elements.ts';

/** Empty until the names are found. Codes without a document stay codes. */
export function neighbours(database: Database, codes: readonly string[]): HTMLElement {
  const element = make('dd', { class: 'neighbours' }, '…');
  const show = (found: readonly Found[]) => {
    const byCode = new Map(found.map((document) => [document['cca3'], document]));
    const known = codes.flatMap((code) => byCode.get(code) ?? []);
    const named = known.map((document) => ({ id: document._id, name: nameOf(document) || document._id }));
    named.sort((one, other) => one.name.localeCompare(other.name, 'en'));
    fill(
      element,
      ...named.map(({ id, name }) => make('a', { href: countryHash(id) }, name)),
      ...codes.filter((code) => !byCode.has(code)).map((code) => make('span', {}, code)),
    );
  };
  database.find({ cca3: { $in: codes } }, ['_id', 'cca3', 'name'], codes.length).then(show, () => show([]));
  return element;
}
