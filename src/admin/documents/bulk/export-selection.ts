/** What only reads the selection: a file of its documents, their ids. */
import { formatCount, formatMany } from '../../components/format.ts';
import { saveFile } from '../../components/save-file.ts';
import type { JsonObject } from '../../server/client.ts';
import type { ListSettings } from '../list-state.ts';
import type { List } from '../use-list.ts';
import { bulkServerOf } from './bulk-server.ts';
import { nextSize } from './run.ts';
import { targetsOf } from './targets.ts';
import { runTask } from './task.ts';

interface Wish {
  readonly database: string;
  readonly list: List;
  readonly settings: ListSettings;
}

const FIRST_BATCH = 100;

/** Saves the selected documents as JSON lines, without revisions and attachments, as an import takes them. */
export function exportSelection({ database, list, settings }: Wish): Promise<void> {
  return runTask(database, async (tell, signal) => {
    const selection = settings.selection.value;
    const wish = { database, source: list.source, selection, withDesign: true };
    const { targets } = await targetsOf(wish, tell, signal);
    const server = bulkServerOf(database);
    const parts: Blob[] = [];
    let [at, size] = [0, FIRST_BATCH];
    while (at < targets.length) {
      const batch = targets.slice(at, at + size);
      const { documents, characters } = await server.read(
        batch.map(({ id }) => id),
        signal,
      );
      // A blob is out of the page's own memory.
      parts.push(new Blob(documents.flatMap(({ doc }) => (doc === undefined ? [] : [lineOf(doc)]))));
      at += batch.length;
      size = nextSize(batch.length, characters);
      tell(`${formatCount(at)} of ${formatMany(targets.length, 'document')} read …`);
    }
    saveFile(new Blob(parts, { type: 'application/x-ndjson' }), `${database.replaceAll('/', '-')}-selection.jsonl`);
  });
}

function lineOf({ _rev, _attachments, ...members }: JsonObject): string {
  return `${JSON.stringify(members)}\n`;
}

/** Calls `done` with the selected ids, one a line. */
export async function selectedIds({ database, list, settings }: Wish, done: (text: string) => void): Promise<void> {
  const selection = settings.selection.value;
  if (!selection.isInverse) {
    done([...selection.ids].join('\n'));
    return;
  }
  await runTask(database, async (tell, signal) => {
    const wish = { database, source: list.source, selection, withDesign: true };
    const { targets } = await targetsOf(wish, tell, signal);
    done(targets.map(({ id }) => id).join('\n'));
  });
}
