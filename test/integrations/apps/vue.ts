import { useDocument, useQuery, useSync } from 'settee/vue';
import { createApp, h, ref } from 'vue';
import { notes } from './notes.ts';

createApp({
  setup() {
    const list = ref('home');
    const shown = useQuery(notes, () => ({ selector: { list: list.value }, fields: ['_id', 'text'] as const }));
    const first = useDocument(notes, () => shown.value.documents[0]?._id);
    const sync = useSync(undefined);
    const choose = (name: string) => h('button', { id: name, onClick: () => (list.value = name) });
    return () => [
      choose('home'),
      choose('work'),
      h('output', shown.value.status),
      h('p', first.value.document?.text),
      h('i', sync.value?.state ?? 'no sync'),
      h(
        'ul',
        shown.value.documents.map((note) => h('li', { key: note._id }, note.text)),
      ),
    ];
  },
}).mount('#app');
