/** The databases of the server, and what is known of each. */
import { ask, type Json, pathOf, ServerError } from './client.ts';

export interface DatabaseInfo {
  readonly name: string;
  /** Undefined if the user may not read it. */
  readonly documents: number | undefined;
  readonly deleted: number | undefined;
  /** Bytes of the file, and of what it contains that is still needed. */
  readonly fileBytes: number | undefined;
  readonly dataBytes: number | undefined;
  readonly updateSeq: Json | undefined;
  readonly isCompacting: boolean;
}

interface InfoMembers {
  readonly doc_count?: number;
  readonly doc_del_count?: number;
  readonly disk_size?: number;
  readonly data_size?: number;
  readonly sizes?: { readonly file?: number; readonly active?: number };
  readonly update_seq?: Json;
  readonly compact_running?: boolean;
}

/** Databases asked about in one request. */
const AT_ONCE = 100;

/** Returns the names, sorted. */
export function listDatabases(signal?: AbortSignal): Promise<readonly string[]> {
  return ask('GET', '_all_dbs', { signal, quiet: true });
}

export async function infosOf(names: readonly string[], signal?: AbortSignal): Promise<readonly DatabaseInfo[]> {
  const infos: DatabaseInfo[] = [];
  for (let from = 0; from < names.length; from += AT_ONCE) {
    const keys = names.slice(from, from + AT_ONCE);
    infos.push(...(await someInfos(keys, signal)));
  }
  return infos;
}

export async function infoOf(name: string, signal?: AbortSignal): Promise<DatabaseInfo> {
  return toInfo(name, await ask<InfoMembers>('GET', pathOf(name), { signal, quiet: true }));
}

async function someInfos(keys: readonly string[], signal?: AbortSignal): Promise<readonly DatabaseInfo[]> {
  try {
    type Entry = { readonly key: string; readonly info?: InfoMembers };
    const entries = await ask<readonly Entry[]>('POST', '_dbs_info', { json: { keys }, signal, quiet: true });
    return entries.map(({ key, info }) => toInfo(key, info));
  } catch (failure) {
    // Servers without it, and those that answer it to admins only, say the same database by database.
    if (!(failure instanceof ServerError) || failure.status === 0) throw failure;
    return Promise.all(
      keys.map((name) =>
        ask<InfoMembers>('GET', pathOf(name), { signal, quiet: true }).then(
          (info) => toInfo(name, info),
          (reason: unknown) => {
            if (!(reason instanceof ServerError) || reason.status === 0) throw reason;
            return toInfo(name, undefined);
          },
        ),
      ),
    );
  }
}

function toInfo(name: string, info: InfoMembers | undefined): DatabaseInfo {
  return {
    name,
    documents: info?.doc_count,
    deleted: info?.doc_del_count,
    fileBytes: info?.sizes?.file ?? info?.disk_size,
    dataBytes: info?.sizes?.active ?? info?.data_size,
    updateSeq: info?.update_seq,
    isCompacting: info?.compact_running === true,
  };
}

/** Returns how many changes lie between two sequences; undefined if the server's sequences can't be compared. */
export function changesBetween(before: Json | undefined, after: Json | undefined): number | undefined {
  const [from, to] = [numberOf(before), numberOf(after)];
  return from === undefined || to === undefined ? undefined : Math.max(0, to - from);
}

/** Clusters write sequences as `12-opaque`. */
function numberOf(seq: Json | undefined): number | undefined {
  if (typeof seq === 'number') return seq;
  const [, digits] = typeof seq === 'string' ? (/^(\d+)/.exec(seq) ?? []) : [];
  return digits === undefined ? undefined : Number(digits);
}
