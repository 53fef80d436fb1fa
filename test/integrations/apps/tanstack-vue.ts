import { createCollection, eq, useLiveQuery } from '@tanstack/vue-db';
import { createApp, h } from 'vue';
import { options, shown } from './tanstack-notes.ts';

const collection = createCollection(options);
Reflect.set(window, 'collection', collection);

createApp({
  setup() {
    const { data, isReady } = useLiveQuery((query) =>
      query
        .from({ note: collection })
        .where(({ note }) => eq(note.list, 'home'))
        .orderBy(({ note }) => note.text),
    );
    return () => [
      h('output', String(isReady.value)),
      h(
        'ul',
        data.value.map((note) => h('li', { key: note._id }, shown(note))),
      ),
    ];
  },
}).mount('#app');
