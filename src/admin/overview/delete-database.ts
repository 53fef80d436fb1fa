import { formatMany } from '../components/format.ts';
import { goTo } from '../page/router.ts';
import { review } from '../review/review.tsx';
import { ask, pathOf } from '../server/client.ts';
import type { DatabaseInfo } from '../server/databases.ts';

/** Shows what is lost, and deletes the database once its name was typed. */
export function deleteDatabase(name: string, info: DatabaseInfo | undefined): void {
  const documents = info?.documents === undefined ? 'All its documents' : formatMany(info.documents, 'document');
  review({
    title: `Delete ${name}`,
    effects: [
      `${documents}, their revisions and attachments, and the indexes of its views are lost. This can't be undone.`,
      'Copies in other databases stay: a deleted database does not replicate. Replications from it and to it will fail.',
    ],
    requests: [{ method: 'DELETE', path: pathOf(name) }],
    typedName: name,
    action: 'Delete',
    needsAdmin: true,
    apply: async () => {
      await ask('DELETE', pathOf(name));
      goTo([]);
    },
  });
}
