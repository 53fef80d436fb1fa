import type { MemoryFile, MemoryMedium } from '../../src/storage/memory-page-store.ts';
import type { PageValue } from '../../src/storage/page-store.ts';
import type { SeededRandom } from './seeded-random.ts';

/** A value that a file keeps, and how to replace it. */
interface Place {
  readonly name: string;
  readonly value: PageValue;
  set(value: PageValue): void;
}

/** Changes one bit of one value in one of the files. Each file is equally likely, and so is each of its values. Returns what was changed. */
export function flipValue(random: SeededRandom, { files }: MemoryMedium): string {
  const choices = [...files].map(([file, content]) => ({ file, places: placesIn(content) }));
  const { file, places = [] } = random.oneOf(choices.filter(({ places }) => places.length > 0)) ?? {};
  const place = random.oneOf(places);
  if (place === undefined) throw new Error('there is nothing to change');
  const { name, value, set } = place;
  const at = random.between(0, value.length - 1);
  if (typeof value === 'string') {
    const changed = String.fromCharCode(value.charCodeAt(at) ^ (1 << random.between(0, 6)));
    set(value.slice(0, at) + changed + value.slice(at + 1));
  } else {
    set(value.with(at, (value[at] ?? 0) ^ (1 << random.between(0, 7))));
  }
  return `character or byte ${at} of ${name} of ${file}`;
}

function placesIn(file: MemoryFile): Place[] {
  const { head, journal, pages } = file;
  const places: Place[] = [];
  if (head !== undefined) {
    places.push({
      name: 'the head',
      value: head,
      set: (value) => {
        file.head = String(value);
      },
    });
  }
  for (const [number, { text }] of journal) {
    const set = (value: PageValue) => void journal.set(number, { number, text: String(value) });
    places.push({ name: `record ${number}`, value: text, set });
  }
  for (const [number, value] of pages) {
    places.push({ name: `page ${number}`, value, set: (other) => void pages.set(number, other) });
  }
  return places;
}
