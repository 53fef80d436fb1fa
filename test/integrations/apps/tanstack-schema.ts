/** For the compiler: rows have the type of a schema, and what is inserted that of its input. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { createCollection } from '@tanstack/db';
import { database } from 'settee/database';
import { setteeCollectionOptions } from 'settee/tanstack';
import { notes } from './notes.ts';

declare const schema: StandardSchemaV1<{ text: string; stars?: number }, { text: string; stars: number }>;
declare const other: StandardSchemaV1<{ title: string }, { title: string }>;

const untyped = database(notes.fetch, notes.address);
const collection = createCollection(setteeCollectionOptions({ database: untyped, schema }));

export function misspelt(): number | undefined {
  collection.insert({ _id: 'a', text: 'milk' });
  // @ts-expect-error The schema wants a text.
  collection.insert({ _id: 'a', stars: 1 });
  // @ts-expect-error It is a number.
  collection.insert({ _id: 'a', text: 'milk', stars: '1' });
  // @ts-expect-error A document needs an id.
  collection.insert({ text: 'milk' });
  collection.update('a', (draft) => {
    draft.stars = 1;
    // @ts-expect-error It is a text.
    draft.text = 1;
  });
  collection.insert({ _id: 'a', text: 'milk', _attachments: { photo: { data: new Blob([]) } } });
  // @ts-expect-error A new file has content.
  collection.insert({ _id: 'a', text: 'milk', _attachments: { photo: { content_type: 'image/png' } } });
  collection.update('a', (draft) => {
    draft._attachments = { ...draft._attachments, photo: { data: new Blob([]) } };
  });
  const digests = Object.values(collection.get('a')?._attachments ?? {}).map(({ digest }) => digest);
  void (digests satisfies (string | undefined)[]);
  // @ts-expect-error The schema has no such member.
  void collection.get('a')?.other;
  // @ts-expect-error The database has other documents.
  setteeCollectionOptions({ database: notes, schema: other });
  return collection.get('a')?.stars;
}
