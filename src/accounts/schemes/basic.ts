/** `Authorization: Basic` (RFC 7617). */
import { fromBase64 } from '../../base/shared/bytes.ts';

export interface NameAndPassword {
  readonly name: string;
  readonly password: string;
}

/** Sent by clients that want to be anonymous although they would otherwise send other credentials. */
const NOBODY: NameAndPassword = { name: '_', password: '_' };

/** Returns undefined if the header has another scheme; `malformed` if it has this one and can't be parsed. */
export function parseBasic(header: string | undefined): NameAndPassword | 'malformed' | undefined {
  const [, encoded] = /^basic +(.*)$/i.exec(header ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const bytes = fromBase64(encoded);
  const text = bytes === undefined ? undefined : decode(bytes);
  const colon = text?.indexOf(':') ?? -1;
  if (text === undefined || colon < 0) return 'malformed';
  return { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

export function isNobody({ name, password }: NameAndPassword): boolean {
  return name === NOBODY.name && password === NOBODY.password;
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
