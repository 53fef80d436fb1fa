/** Which documents a selection is, each with the revision that the user agreed to change. */
import { formatCount, formatMany } from '../../components/format.ts';
import type { RowSource } from '../row-sources/row-source.ts';
import { walk } from '../row-sources/walk.ts';
import type { Selection } from '../selection.ts';
import { readRevisions } from './bulk-server.ts';
import type { Target } from './run.ts';

export interface Targets {
  readonly targets: readonly Target[];
  /** Selected documents that are not there any more. */
  readonly gone: number;
  /** Selected design documents that are left out. */
  readonly leftOut: number;
}

const PER_PAGE = 1_000;
/** Documents of one bulk change: the page holds their ids and revisions in memory. */
const MAX_TARGETS = 1_000_000;

interface Wish {
  readonly database: string;
  readonly source: RowSource;
  readonly selection: Selection;
  /** Otherwise design documents are left out. */
  readonly withDesign: boolean;
}

export function targetsOf(wish: Wish, tell: (text: string) => void, signal: AbortSignal): Promise<Targets> {
  return wish.selection.isInverse ? matching(wish, tell, signal) : listed(wish, tell, signal);
}

async function listed(
  { database, selection, withDesign }: Wish,
  tell: (text: string) => void,
  signal: AbortSignal,
): Promise<Targets> {
  const ids = [...selection.ids].filter((id) => withDesign || !isDesign(id));
  const targets: Target[] = [];
  for (let from = 0; from < ids.length; from += PER_PAGE) {
    if (from > 0) tell(`Looking at ${formatCount(from)} of ${formatMany(ids.length, 'document')} …`);
    const found = await readRevisions(database, ids.slice(from, from + PER_PAGE), signal);
    targets.push(...found.filter((one) => one !== undefined));
  }
  return { targets, gone: ids.length - targets.length, leftOut: selection.ids.size - ids.length };
}

async function matching(
  { source, selection, withDesign }: Wish,
  tell: (text: string) => void,
  signal: AbortSignal,
): Promise<Targets> {
  const targets: Target[] = [];
  let leftOut = 0;
  const read = (cursor: string | undefined) => source.read({ limit: PER_PAGE, withDocs: false, cursor }, signal);
  for await (const rows of walk(read, signal)) {
    for (const { id, rev } of rows) {
      if (selection.ids.has(id)) continue;
      if (withDesign || !isDesign(id)) targets.push({ id, rev });
      else leftOut += 1;
    }
    tell(`${formatMany(targets.length, 'document')} so far …`);
    if (targets.length > MAX_TARGETS) {
      throw new Error(`A change has at most ${formatMany(MAX_TARGETS, 'document')}. Choose a filter that finds fewer.`);
    }
  }
  return { targets, gone: 0, leftOut };
}

export function isDesign(id: string): boolean {
  return id.startsWith('_design/');
}
