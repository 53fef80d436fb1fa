/** `_log`: reads the log, and writes to it (docs/http/server.md#log). */
import { CustomCodeError, DatabaseError } from '../../../base/errors/database-error.ts';
import { ownMember } from '../../../base/json/objects.ts';
import { writeOfClient } from '../../../base/system/log.ts';
import { readObject } from '../../request/bodies.ts';
import { LOG_ENTRY } from '../../request/body-bounds.ts';
import type { Answer, Context } from '../../request/context.ts';
import { parseCount } from '../../request/parameter-values.ts';
import { MUST_REVALIDATE, okAnswer } from '../../response/responses.ts';
import type { AdministrationService } from './administration-service.ts';

const DEFAULT_BYTES = 1_000;
const MAX_BYTES = 1_000_000;
const ADMIN_ROLE = '_admin';
/** Characters of a message, by a server admin and by others. */
const MAX_MESSAGE_LENGTH = 65_536;
const MAX_LENGTH_OF_USERS = 4_096;
/** Characters of a name, and of an address as a proxy may forward it. */
const MAX_NAME_LENGTH = 128;
const ADDRESS = /^[\w.:%]{1,64}$/;
const LEVELS = ['debug', 'info', 'warning', 'error'] as const;

export async function getLog({ logTail }: AdministrationService, { query }: Context): Promise<Answer> {
  const bytes = parseCount(query.get('bytes') ?? DEFAULT_BYTES);
  const offset = parseCount(query.get('offset') ?? 0);
  if (bytes > MAX_BYTES) throw new DatabaseError('bad_request', `'bytes' cannot exceed ${MAX_BYTES}`);
  const body = wholeCharacters(await logTail.read(bytes, offset));
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': MUST_REVALIDATE };
  return { status: 200, headers, body };
}

export async function postLog(service: AdministrationService, context: Context): Promise<Answer> {
  const entry = await readObject(context, LOG_ENTRY);
  const given = ownMember(entry, 'level');
  const message = ownMember(entry, 'message');
  const level = LEVELS.find((one) => one === given);
  if (level === undefined) {
    const name = typeof given === 'string' ? given.slice(0, 200) : JSON.stringify(given ?? null).slice(0, 200);
    throw new CustomCodeError(
      'bad_request',
      `Unrecognized log level '${name}'`,
      'level must be debug, info, warning or error.',
    );
  }
  const isAdmin = context.user.roles.includes(ADMIN_ROLE);
  const longest = isAdmin ? MAX_MESSAGE_LENGTH : MAX_LENGTH_OF_USERS;
  if (typeof message !== 'string' || message.length > longest) {
    const reason = `message must be a string of at most ${longest} characters.`;
    throw new DatabaseError('bad_request', reason);
  }
  if (!isAdmin) service.admitEntry(context.clientAddress);
  writeOfClient(context.services.log, level, `${senderOf(context)} wrote: ${message}`);
  return okAnswer(context, 200);
}

/** Quotes a name, so that none can look like the rest of the entry. */
function senderOf(context: Context): string {
  const { name } = context.user;
  const address = context.clientAddress;
  const known = ADDRESS.test(address) ? address : quoted(address);
  return `${name === null ? 'somebody' : quoted(name)} from ${address === '' ? 'an unknown address' : known}`;
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, MAX_NAME_LENGTH));
}

/** Removes the bytes of characters that were cut in two. */
function wholeCharacters(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < bytes.length && start < 4 && isContinuation(bytes[start])) start++;
  let lead = bytes.length - 1;
  while (lead > start && isContinuation(bytes[lead])) lead--;
  const isWhole = lead < start || bytes.length - lead >= lengthOf(bytes[lead]);
  return bytes.subarray(start, isWhole ? bytes.length : lead);
}

function isContinuation(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Returns the number of bytes of the character that begins with this one (RFC 3629, 3). */
function lengthOf(byte = 0): number {
  if (byte < 0xc0) return 1;
  if (byte < 0xe0) return 2;
  return byte < 0xf0 ? 3 : 4;
}
