/** The certificate and the key with which a server speaks https. */
import { type StatsListener, unwatchFile, watchFile } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { DatabaseError } from '../../base/errors/database-error.ts';

export interface TlsKeys {
  /** PEM. */
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Undefined if no files are named. Fails with `bad_request` if one of them is missing, can't be read, or is invalid. */
export async function readTlsKeys(
  certFile: string | undefined,
  keyFile: string | undefined,
): Promise<TlsKeys | undefined> {
  if (!certFile && !keyFile) return undefined;
  if (!certFile || !keyFile) {
    const reason =
      'https needs both a certificate and its key: --tls-cert FILE --tls-key FILE, or ssl/cert_file and ssl/key_file.';
    throw new DatabaseError('bad_request', reason);
  }
  const keys = { cert: await read(certFile), key: await read(keyFile) };
  try {
    createSecureContext(keys);
    return keys;
  } catch (cause) {
    const reason = `The certificate ${certFile} and the key ${keyFile} can't be used: ${messageOf(cause)}. Both must be PEM files, and belong to each other.`;
    throw new DatabaseError('bad_request', reason, { cause });
  }
}

/** How often the files are checked: a certificate is renewed days before the old one expires. */
const CHECK_MS = 5_000;

/**
 * Calls back with the pair when one of the files has changed. While they don't match, as in the middle of a renewal, `onFailure` gets
 * the DatabaseError of `readTlsKeys`, and it waits for the next change. Returns a function that ends it.
 */
export function followTlsKeys(
  certFile: string,
  keyFile: string,
  { onKeys, onFailure, checkMs = CHECK_MS }: TlsFollower,
): () => void {
  let isEnded = false;
  const readAgain = () =>
    readTlsKeys(certFile, keyFile).then(
      (keys) => {
        if (keys !== undefined && !isEnded) onKeys(keys);
      },
      (error: unknown) => {
        if (!isEnded) onFailure(error);
      },
    );
  const onLook: StatsListener = (now, before) => {
    if (now.mtimeMs !== before.mtimeMs || now.ino !== before.ino || now.size !== before.size) void readAgain();
  };
  // By name, at intervals: a renewal often replaces the old file with another file or link.
  for (const file of [certFile, keyFile]) watchFile(file, { persistent: false, interval: checkMs }, onLook);
  return () => {
    isEnded = true;
    for (const file of [certFile, keyFile]) unwatchFile(file, onLook);
  };
}

export interface TlsFollower {
  onKeys(keys: TlsKeys): void;
  onFailure(error: unknown): void;
  /** Milliseconds between two checks. Default: 5,000. */
  readonly checkMs?: number | undefined;
}

async function read(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    throw new DatabaseError('bad_request', `${file} can't be read: ${messageOf(cause)}.`, { cause });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
