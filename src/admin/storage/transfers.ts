/** Exports and imports: they go on while other screens are shown. */
import { signal } from '@preact/signals';

export interface RefusedLine {
  /** Counted from 1: a line of the file, or an entry of the list. */
  readonly line: number;
  readonly id: string;
  readonly reason: string;
  readonly text: string;
}

export interface Transfer {
  readonly kind: 'export' | 'import';
  readonly database: string;
  readonly fileName: string;
  readonly state: 'running' | 'done' | 'cancelled' | 'failed';
  /** Documents written to the file, or stored. */
  readonly done: number;
  readonly refusedCount: number;
  /** The first of them. */
  readonly refused: readonly RefusedLine[];
  /** From 0 to 1; undefined if it is not known. */
  readonly share: number | undefined;
  readonly bytes: number;
  readonly failure: unknown;
  /** The exported file. */
  readonly result: Blob | undefined;
  readonly cancel: () => void;
}

/** Refused lines that are listed; more are counted only. */
export const MAX_REFUSED = 1_000;

export const transfers = signal<ReadonlyMap<string, Transfer>>(new Map());

export function transferOf(database: string, kind: Transfer['kind']): Transfer | undefined {
  return transfers.value.get(keyOf(database, kind));
}

/** Runs `work`, which tells how far it is, and keeps the outcome for the screen. */
export async function runTransfer(
  { database, kind, fileName }: Pick<Transfer, 'database' | 'kind' | 'fileName'>,
  work: (tell: (news: Partial<Transfer>) => void, abortSignal: AbortSignal) => Promise<void>,
): Promise<void> {
  const controller = new AbortController();
  let current: Transfer = {
    ...{ database, kind, fileName, state: 'running', done: 0, refusedCount: 0, refused: [], share: 0, bytes: 0 },
    ...{ failure: undefined, result: undefined, cancel: () => controller.abort() },
  };
  const tell = (news: Partial<Transfer>) => {
    current = { ...current, ...news };
    transfers.value = new Map(transfers.value).set(keyOf(database, kind), current);
  };
  tell({});
  try {
    await work(tell, controller.signal);
    tell({ state: 'done', share: 1 });
  } catch (failure) {
    tell(controller.signal.aborted ? { state: 'cancelled' } : { state: 'failed', failure });
  }
}

export function forgetTransfer(database: string, kind: Transfer['kind']): void {
  const next = new Map(transfers.value);
  next.delete(keyOf(database, kind));
  transfers.value = next;
}

function keyOf(database: string, kind: Transfer['kind']): string {
  return `${kind} ${database}`;
}
