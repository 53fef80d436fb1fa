/** The names of a country, in all the languages that its document has, as words for the search. */
import type { Content } from './database.ts';
import { slug } from './slug.ts';

/** The words of a search text, or of names: in the form of ids, each once. */
export function wordsOf(text: string): readonly string[] {
  return [...new Set(slug(text).split('-'))].filter((word) => word !== '');
}

/** All words of the document's names and of its id: the same as the view emits. */
export function nameWords(document: Content): ReadonlySet<string> {
  const { _id: id, name, altSpellings, translations } = document;
  const texts: string[] = [];
  collect([id, name, altSpellings, translations], texts);
  return new Set(texts.flatMap(wordsOf));
}

/** Whether each of these words is the beginning of one of the document's. */
export function isNamed(document: Content, words: readonly string[]): boolean {
  const own = [...nameWords(document)];
  return words.every((word) => own.some((one) => one.startsWith(word)));
}

function collect(value: unknown, texts: string[]): void {
  if (typeof value === 'string') texts.push(value);
  else if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) collect(one, texts);
}

/** The same for a view, whose functions run in a sandbox and see nothing of the page. */
export const emitNameWords = `function (doc) {
  var letters = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i', ħ: 'h', ə: 'a' };
  var words = new Set();
  function collect(value) {
    if (typeof value === 'string') {
      var plain = value.toLowerCase().normalize('NFD').replace(/\\p{M}|\\p{Lm}/gu, '');
      plain.replace(/[ßæœøłđðþıħə]/g, function (letter) { return letters[letter]; })
        .split(/[^\\p{L}\\p{N}]+/u)
        .forEach(function (word) { if (word !== '') words.add(word); });
    } else if (typeof value === 'object' && value !== null) Object.values(value).forEach(collect);
  }
  collect([doc._id, doc.name, doc.altSpellings, doc.translations]);
  words.forEach(function (word) { emit(word); });
}`;
