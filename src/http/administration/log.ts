/** `_log`: reads the log, and writes into it (docs/http.md#log). */
import { DatabaseError, WordedError } from '../../errors/database-error.ts';
import { ownMember } from '../../json/objects.ts';
import { readObject } from '../request/bodies.ts';
import { LOG_ENTRY } from '../request/body-bounds.ts';
import type { Answer, Context } from '../request/context.ts';
import { parseCount } from '../request/parameter-values.ts';
import { MUST_REVALIDATE, okAnswer } from '../response/responses.ts';
import type { AdministrationService } from './administration-service.ts';

const DEFAULT_BYTES = 1_000;
const MOST_BYTES = 1_000_000;
const LONGEST_MESSAGE = 65_536;
const LEVELS = ['debug', 'info', 'error'] as const;

export async function getLog({ logTail }: AdministrationService, { query }: Context): Promise<Answer> {
  const bytes = parseCount(query.get('bytes') ?? DEFAULT_BYTES);
  const offset = parseCount(query.get('offset') ?? 0);
  if (bytes > MOST_BYTES) throw new DatabaseError('bad_request', `'bytes' cannot exceed ${MOST_BYTES}`);
  const body = wholeCharacters(await logTail.read(bytes, offset));
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': MUST_REVALIDATE };
  return { status: 200, headers, body };
}

export async function postLog(_service: AdministrationService, context: Context): Promise<Answer> {
  const entry = await readObject(context, LOG_ENTRY);
  const given = ownMember(entry, 'level');
  const message = ownMember(entry, 'message');
  const level = LEVELS.find((one) => one === given);
  if (level === undefined) {
    const name = typeof given === 'string' ? given.slice(0, 200) : JSON.stringify(given ?? null).slice(0, 200);
    throw new WordedError('bad_request', `Unrecognized log level '${name}'`, 'level must be debug, info or error.');
  }
  if (typeof message !== 'string' || message.length > LONGEST_MESSAGE) {
    const reason = `message must be a string of at most ${LONGEST_MESSAGE} characters.`;
    throw new DatabaseError('bad_request', reason);
  }
  context.services.log[level](message);
  return okAnswer(context, 200);
}

/** Without the bytes of characters that were cut in two. */
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

/** Bytes of the character that begins with this one (RFC 3629, 3). */
function lengthOf(byte = 0): number {
  if (byte < 0xc0) return 1;
  if (byte < 0xe0) return 2;
  return byte < 0xf0 ? 3 : 4;
}
